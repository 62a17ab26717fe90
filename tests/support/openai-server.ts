/** Another server of the OpenAI API, which says what a test tells it to. */

interface AskedRequest {
  method: string;
  path: string;
  key: string | null;
  body: unknown;
}

/** Answers a request; undefined: there is no such path. */
export type Script = (
  request: AskedRequest,
  signal: AbortSignal,
) => Response | undefined | Promise<Response | undefined>;

export interface ConventionServer extends AsyncDisposable {
  url: string;
  asked: AskedRequest[];
}

/** `port` 0: any free one. */
export function openAiServer(script: Script, port = 0): ConventionServer {
  const asked: AskedRequest[] = [];
  const server = Bun.serve({
    port,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const text = await request.text();
      const known: AskedRequest = {
        method: request.method,
        path: new URL(request.url).pathname,
        key: request.headers.get("authorization"),
        body: text === "" ? undefined : JSON.parse(text),
      };
      asked.push(known);
      return (await script(known, request.signal)) ?? new Response("not found", { status: 404 });
    },
  });
  return {
    url: server.url.origin,
    asked,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** The models of a server that is no node of Paddock. */
export const modelList = (...names: string[]): Response =>
  Response.json({ object: "list", data: names.map((id) => ({ id, object: "model" })) });

const encoder = new TextEncoder();

/** A stream of the pieces as they are; bytes may be cut anywhere. */
export function streamOf(pieces: readonly (string | Uint8Array)[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) {
        controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      }
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** A frame with a piece of an answer. */
export const frame = (content: string, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;

/** An answer that begins and never ends; `left` settles when its reader goes. */
export function endlessStream(first: string): { response: Response; left: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(frame(first))),
    cancel: () => resolve(),
  });
  const headers = { "content-type": "text/event-stream" };
  return { response: new Response(body, { headers }), left: promise };
}

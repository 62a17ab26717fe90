/**
 * A double of the benchmark, in a process of its own: a server of the OpenAI API that sleeps instead
 * of computing. It streams words at a fixed pace, all answers by one timer, so that what it costs is
 * little and the same for everybody who asks it.
 */
import type { SleepingPace } from "./sleeping-upstream.ts";

const pace: SleepingPace = JSON.parse(process.argv[2] ?? "{}");
const tickMs = 1000 / pace.tokensPerSecond;
const model = "sleeping";
const encoder = new TextEncoder();

const event = (data: object): Uint8Array => encoder.encode(`data: ${JSON.stringify(data)}\n\n`);
const head = { id: "chatcmpl-sleeping", object: "chat.completion.chunk", created: 1, model };
const chunk = (delta: object, reason: string | null = null): Uint8Array =>
  event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
const word = chunk({ content: " word" });
const last = chunk({}, "length");

interface Asked {
  messages: unknown[];
  max_tokens: number;
}

interface Sleeper {
  left: number;
  dueAt: number;
  controller: ReadableStreamDefaultController<Uint8Array>;
  tokens: number;
}

const awake = new Set<Sleeper>();
const waiting: Sleeper[] = [];

function begin(sleeper: Sleeper): void {
  if (awake.size >= pace.atOnce) {
    waiting.push(sleeper);
    return;
  }
  sleeper.dueAt = performance.now() + pace.firstTokenMs;
  awake.add(sleeper);
}

function end(sleeper: Sleeper): void {
  const at = waiting.indexOf(sleeper);
  if (at !== -1) waiting.splice(at, 1);
  if (!awake.delete(sleeper)) return;
  const next = waiting.shift();
  if (next !== undefined) begin(next);
}

function step(sleeper: Sleeper, now: number): void {
  const { controller, tokens } = sleeper;
  // One that is late makes up for it, as a timer's delay is not a model's.
  while (sleeper.left > 0 && sleeper.dueAt <= now) {
    controller.enqueue(word);
    sleeper.left--;
    sleeper.dueAt += tickMs;
  }
  if (sleeper.left > 0) return;
  controller.enqueue(last);
  const usage = { prompt_tokens: 20, completion_tokens: tokens, total_tokens: 20 + tokens };
  controller.enqueue(event({ ...head, choices: [], usage }));
  controller.enqueue(encoder.encode("data: [DONE]\n\n"));
  controller.close();
  end(sleeper);
}

/** Often enough that a token is late by a few milliseconds at most. */
const lookEveryMs = 4;
setInterval(() => {
  const now = performance.now();
  for (const sleeper of awake) step(sleeper, now);
}, lookEveryMs);

function answer(tokens: number): Response {
  let sleeper: Sleeper | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      sleeper = { left: tokens, dueAt: 0, controller, tokens };
      begin(sleeper);
    },
    cancel() {
      if (sleeper !== undefined) end(sleeper);
    },
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/models") {
      return Response.json({ object: "list", data: [{ id: model, object: "model" }] });
    }
    if (pathname !== "/v1/chat/completions") return new Response("", { status: 404 });
    const { messages, max_tokens: tokens }: Asked = JSON.parse(await request.text());
    if (messages.length > 0) return answer(tokens);
    return Response.json({ error: { message: "No messages", param: "messages" } }, { status: 400 });
  },
});
process.stdout.write(`${server.port}\n`);

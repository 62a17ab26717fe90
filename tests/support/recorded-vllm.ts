/**
 * A server that answers as vLLM does, by its documentation and its protocol's sources (0.11): what
 * it lists, counts, streams and refuses. Nothing is computed.
 */
import { type ConventionServer, openAiServer, type Script } from "./openai-server.ts";

export const vllmModel = "Qwen/Qwen3-8B";

const chunk = (choices: object[], rest: object = {}): string =>
  `data: ${JSON.stringify({
    id: "chatcmpl-6d1f0b7e2c5b4f0e8f1c",
    object: "chat.completion.chunk",
    created: 1_762_000_000,
    model: vllmModel,
    choices,
    ...rest,
  })}\n\n`;

const choice = (delta: object, rest: object = {}): object => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: null,
  token_ids: null,
  ...rest,
});

const usage = (prompt: number, completion: number, cached: number): string =>
  chunk([], {
    usage: {
      prompt_tokens: prompt,
      total_tokens: prompt + completion,
      completion_tokens: completion,
      prompt_tokens_details: { cached_tokens: cached },
    },
  });

const done = "data: [DONE]\n\n";
const role = chunk([choice({ role: "assistant", content: "" })]);
const tool = (index: number, rest: object): string =>
  chunk([choice({ tool_calls: [{ index, ...rest }] })]);

/** Streams by name, as they were written down. */
export const vllmStreams = {
  text: [
    role,
    chunk([choice({ content: "Paris" })]),
    chunk([choice({ content: "." }, { finish_reason: "stop", stop_reason: null })]),
    usage(23, 3, 16),
    done,
  ],
  /** With `--reasoning-parser`; newer versions call it `reasoning`, older ones `reasoning_content`. */
  reasoning: [
    role,
    chunk([choice({ reasoning: "The capital" })]),
    chunk([choice({ reasoning_content: " of France." })]),
    chunk([choice({ content: "Paris." })]),
    chunk([choice({ content: "" }, { finish_reason: "stop", stop_reason: null })]),
    usage(23, 9, 0),
    done,
  ],
  /** Two calls side by side, with `--enable-auto-tool-choice`. */
  tools: [
    role,
    tool(0, {
      id: "chatcmpl-tool-1",
      type: "function",
      function: { name: "get_weather", arguments: "" },
    }),
    tool(0, { function: { arguments: '{"city": ' } }),
    tool(0, { function: { arguments: '"Paris"}' } }),
    tool(1, {
      id: "chatcmpl-tool-2",
      type: "function",
      function: { name: "get_time", arguments: "{}" },
    }),
    chunk([choice({ content: "" }, { finish_reason: "tool_calls", stop_reason: null })]),
    usage(180, 31, 0),
    done,
  ],
  /** Of a named tool: the reason is `stop`. */
  namedTool: [
    role,
    tool(0, {
      id: "chatcmpl-tool-3",
      type: "function",
      function: { name: "get_weather", arguments: "{" },
    }),
    tool(0, { function: { arguments: '"city":"Rome"}' } }),
    chunk([choice({ content: "" }, { finish_reason: "stop", stop_reason: null })]),
    usage(170, 9, 0),
    done,
  ],
  logprobs: [
    role,
    chunk([
      choice(
        { content: "Yes" },
        {
          logprobs: {
            content: [
              {
                token: "Yes",
                logprob: -0.25,
                bytes: [89, 101, 115],
                top_logprobs: [
                  { token: "Yes", logprob: -0.25, bytes: [89, 101, 115] },
                  { token: "é", logprob: -9999, bytes: null },
                ],
              },
            ],
          },
        },
      ),
    ]),
    chunk([choice({ content: "" }, { finish_reason: "length", stop_reason: null })]),
    usage(20, 1, 0),
    done,
  ],
  /** The engine died amid an answer. */
  broken: [
    role,
    chunk([choice({ content: "Par" })]),
    `data: ${JSON.stringify({
      error: {
        message: "EngineCore encountered an issue.",
        type: "InternalServerError",
        param: null,
        code: 500,
      },
    })}\n\n`,
    done,
  ],
} as const;

export interface VllmOptions {
  stream?: keyof typeof vllmStreams;
  key?: string;
  port?: number;
  /** Whether its model reads images, as `Qwen/Qwen2.5-VL-7B-Instruct` does; it then says what it saw. */
  vision?: boolean;
  /** Whether it refuses images as 0.9 and 0.10 do: in other words, and without `error` around them. */
  older?: boolean;
  /** Answers in its place where it gives a response. */
  instead?: Script;
}

export function recordedVllm(options: VllmOptions = {}): ConventionServer {
  const { stream = "text", key, port, vision = false, older = false, instead } = options;
  const refusal = older ? notMultimodal : tooManyImages;
  return openAiServer(async (request, signal) => {
    const { path, body } = request;
    // The key guards what is under /v1 only.
    if (key !== undefined && path.startsWith("/v1") && request.key !== `Bearer ${key}`) {
      return Response.json({ error: "Unauthorized" }, { status: 401 });
    }
    const other = await instead?.(request, signal);
    if (other !== undefined) return other;
    switch (path) {
      case "/version":
        return Response.json({ version: "0.11.0" });
      case "/v1/models":
        return Response.json({ object: "list", data: [card] });
      case "/tokenize":
        if (!vision && imagesIn(body) > 0) return refusal();
        return Response.json({
          count: 23,
          max_model_len: 40_960,
          tokens: [1, 2],
          token_strs: null,
        });
      case "/v1/chat/completions":
        if (!vision && imagesIn(body) > 0) return refusal();
        return chat(body, stream, vision);
      case "/v1/embeddings":
        return embeddings(body);
      case "/v1/rerank":
        return rerank(body);
      default:
        return undefined;
    }
  }, port);
}

const card = {
  id: vllmModel,
  object: "model",
  created: 1_762_000_000,
  owned_by: "vllm",
  root: vllmModel,
  parent: null,
  max_model_len: 40_960,
  permission: [],
};

/** As it refuses: the status is the code. */
export const vllmError = (status: number, message: string, param: string | null = null): Response =>
  Response.json({ error: { message, type: "BadRequestError", param, code: status } }, { status });

/** As it refuses an image to a model that reads text only. */
const tooManyImages = (): Response =>
  vllmError(400, "At most 0 image(s) may be provided in one prompt.", "image");

const notMultimodal = (): Response =>
  Response.json(
    {
      object: "error",
      message: `${vllmModel} is not a multimodal model None`,
      ...{ type: "BadRequestError", param: null, code: 400 },
    },
    { status: 400 },
  );

function chat(body: unknown, stream: keyof typeof vllmStreams, vision: boolean): Response {
  if (messagesIn(body).length === 0) return vllmError(400, "list index out of range");
  const frames = vision ? [role, seen(body), usage(23, 3, 16), done] : vllmStreams[stream];
  return new Response(frames.join(""), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });
}

const messagesIn = (body: unknown): readonly unknown[] =>
  isRecord(body) && Array.isArray(body.messages) ? body.messages : [];

const partsIn = (message: unknown): readonly unknown[] =>
  isRecord(message) && Array.isArray(message.content) ? message.content : [];

const imagesIn = (body: unknown): number =>
  messagesIn(body)
    .flatMap(partsIn)
    .filter((part) => Object(part).type === "image_url").length;

const mostTold = 8;

/** An answer that says what is in each message: `user: (image/png, 82 bytes, low)What is this?` */
function seen(body: unknown): string {
  const told = messagesIn(body).map((message) => {
    const { role, content } = Object(message);
    const parts = partsIn(message).map((part) => {
      const { text, image_url: image } = Object(part);
      return image === undefined ? text : `(${shown(image)})`;
    });
    const rest = parts.length > mostTold ? `… and ${parts.length - mostTold} parts more` : "";
    const text = typeof content === "string" ? content : parts.slice(0, mostTold).join("") + rest;
    return `${role}: ${text}`;
  });
  return chunk([choice({ content: told.join("\n") }, { finish_reason: "stop" })]);
}

function shown({ url, detail }: { url: string; detail?: string }): string {
  const [, type, data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? [];
  const what = type === undefined ? url : `${type}, ${Buffer.from(data, "base64").length} bytes`;
  return detail === undefined ? what : `${what}, ${detail}`;
}

/** A vector for each text: its length and 3, which are not of unit length. */
function embeddings(body: unknown): Response {
  const inputs = isRecord(body) && Array.isArray(body.input) ? body.input : [];
  const data = inputs.map((text, index) => ({
    index,
    object: "embedding",
    embedding: Buffer.from(Float32Array.of(String(text).length, 3).buffer).toString("base64"),
  }));
  const prompt_tokens = inputs.length * 5;
  return Response.json({
    id: "embd-1",
    object: "list",
    created: 1_762_000_000,
    model: vllmModel,
    data: data.toReversed(),
    usage: {
      prompt_tokens,
      total_tokens: prompt_tokens,
      completion_tokens: 0,
      prompt_tokens_details: null,
    },
  });
}

/** The longer a passage, the better it fits. */
function rerank(body: unknown): Response {
  const texts = isRecord(body) && Array.isArray(body.documents) ? body.documents : [];
  const results = texts.map((text, index) => ({
    index,
    document: { text, multi_modal: null },
    relevance_score: 1 - 1 / (1 + String(text).length),
  }));
  return Response.json({
    id: "rerank-1",
    model: vllmModel,
    usage: { prompt_tokens: 9, total_tokens: 9 },
    results: results.toSorted((a, b) => b.relevance_score - a.relevance_score),
  });
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

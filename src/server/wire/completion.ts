/** Shared by chat and text completions: schemas of usage and logprobs, and the chunk writer. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { TokenLogprob, TokenLogprobs, TokenUsage } from "../../core/ports/chat-engine.ts";
import { accepted, count, flag, nullable, openObject, secondsNow, UnixTime } from "./fields.ts";

/** Each API adds its own `id` and `object`. */
export const headFields = {
  created: UnixTime,
  model: T.String(),
  system_fingerprint: T.String({
    pattern: "^fp_[0-9a-f]+$",
    description: "Changes only when the weights, the engine's build or the model's settings do.",
  }),
};

/** A new answer's head. `prefix`: of its id. */
export const newHead = <Kind extends string>(
  prefix: string,
  object: Kind,
  { model, fingerprint }: { model: string; fingerprint: string },
) => ({
  id: `${prefix}-${crypto.randomUUID()}`,
  object,
  created: secondsNow(),
  model,
  system_fingerprint: fingerprint,
});

/** Writes chunks as JSON. With `includeUsage`, every chunk but the last has `usage: null`. */
export class ChunkWriter<Choice extends object> {
  /** Everything but the choices is the same in every chunk, and serialized once. */
  readonly #start: string;
  readonly #end: string;

  constructor(head: object, includeUsage: boolean) {
    this.#start = JSON.stringify(head).slice(0, -1);
    this.#end = includeUsage ? ',"usage":null' : "";
  }

  /** `more`: fields that only this chunk has. */
  choice(choice: Choice, more?: object): string {
    return `${this.#start},"choices":[${JSON.stringify(choice)}]${this.#end}${fields(more)}}`;
  }

  usage(usage: Usage, more?: object): string {
    return `${this.#start},"choices":[]${fields({ usage, ...more })}}`;
  }
}

const fields = (more: object | undefined): string =>
  more === undefined
    ? ""
    : Object.entries(more)
        .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
        .join("");

export const CachedTokens = T.Object({ cached_tokens: count("Those that needed no evaluation.") });
export const ReasoningTokens = T.Object({ reasoning_tokens: count("Those of thoughts.") });

export const Usage = T.Object({
  prompt_tokens: count(),
  completion_tokens: count(),
  total_tokens: count(),
  prompt_tokens_details: CachedTokens,
  completion_tokens_details: ReasoningTokens,
});

export type Usage = Static<typeof Usage>;

/**
 * The sum of all answers. `each`: answers per prompt, which counts once for them; a token of it that
 * one of them had to evaluate is not cached.
 */
export function toUsage(usages: readonly TokenUsage[], each = usages.length): Usage {
  const prompts = usages.filter((_, at) => at % each === 0);
  const cached = prompts.map((_, at) =>
    Math.min(...usages.slice(at * each, (at + 1) * each).map(({ cachedTokens }) => cachedTokens)),
  );
  const prompt = sum(prompts.map(({ promptTokens }) => promptTokens));
  const completion = sum(usages.map(({ completionTokens }) => completionTokens));
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sum(cached) },
    completion_tokens_details: {
      reasoning_tokens: sum(usages.map(({ reasoningTokens }) => reasoningTokens)),
    },
  };
}

const sum = (counts: readonly number[]): number =>
  counts.reduce((total, count) => total + count, 0);

const Logprob = T.Object({
  token: T.String(),
  logprob: T.Number(),
  bytes: T.Array(T.Integer({ minimum: 0, maximum: 255 })),
});

export const Logprobs = T.Array(
  T.Object({ ...Logprob.properties, top_logprobs: T.Array(Logprob) }),
);

export type Logprobs = Static<typeof Logprobs>;

export const toLogprobs = (logprobs: readonly TokenLogprobs[]): Logprobs =>
  logprobs.map(({ top, ...token }) => ({ ...toLogprob(token), top_logprobs: top.map(toLogprob) }));

const toLogprob = ({ token, logprob, bytes }: TokenLogprob): Static<typeof Logprob> => ({
  token,
  logprob,
  bytes: [...bytes],
});

export const streamFields = {
  stream: flag("Send the answer in pieces as they are generated.", false),
  stream_options: nullable(
    openObject({
      include_usage: flag("Send a last chunk with the token counts.", false),
      include_obfuscation: accepted("Chunks have no padding."),
    }),
    "Options of a stream.",
  ),
};

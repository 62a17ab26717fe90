/** Shared by chat and text completions: schemas of usage and logprobs, and the chunk writer. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { TokenLogprob, TokenLogprobs, TokenUsage } from "../../core/ports/chat-engine.ts";
import { accepted, count, nullable, openObject } from "./fields.ts";

/** Each API adds its own `id` and `object`. */
export const headFields = {
  created: T.Integer({ description: "Unix time in seconds." }),
  model: T.String(),
  system_fingerprint: T.String({
    pattern: "^fp_[0-9a-f]+$",
    description: "Changes only when the weights, the engine's build or the model's settings do.",
  }),
};

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

export const Usage = T.Object({
  prompt_tokens: count(),
  completion_tokens: count(),
  total_tokens: count(),
  prompt_tokens_details: T.Object({
    cached_tokens: count("Those that needed no evaluation."),
  }),
  completion_tokens_details: T.Object({
    reasoning_tokens: count("Those that were thoughts."),
  }),
});

export type Usage = Static<typeof Usage>;

/** Several answers to one prompt count it once. A token that one had to evaluate is not cached. */
export function toUsage(usages: readonly TokenUsage[]): Usage {
  const sum = (of: (usage: TokenUsage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0);
  const prompt = usages[0]?.promptTokens ?? 0;
  const completion = sum(({ completionTokens }) => completionTokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: Math.min(...usages.map(({ cachedTokens }) => cachedTokens)),
    },
    completion_tokens_details: {
      reasoning_tokens: sum(({ reasoningTokens }) => reasoningTokens),
    },
  };
}

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

/** The field `stream_options`. */
export const streamOptions = nullable(
  openObject({
    include_usage: nullable(T.Boolean(), "Send a last chunk with the token counts.", false),
    include_obfuscation: accepted("Chunks carry no padding."),
  }),
  "Options of a stream.",
);

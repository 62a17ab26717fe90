/** Log probabilities of tokens, as chat and responses report them. */
import { type Static, Type as T } from "@sinclair/typebox";
import type { TokenLogprob, TokenLogprobs } from "../../core/ports/chat-engine.ts";

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

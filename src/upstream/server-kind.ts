/** The kinds of servers that speak the OpenAI API, and what each does with what the API does not have. */
import type { Sampling } from "../core/ports/chat-engine.ts";

/** `plain`: none of those that are known. */
export type ServerKind = "vllm" | "sglang" | "llama-server" | "tei" | "paddock" | "plain";

/** As people write them. */
export const kindNames: Readonly<Record<ServerKind, string>> = {
  vllm: "vLLM",
  sglang: "SGLang",
  "llama-server": "llama-server",
  tei: "Text Embeddings Inference",
  paddock: "Paddock",
  plain: "a server of the OpenAI API",
};

type SamplingName = keyof Sampling;

/** The OpenAI API has nothing like these, and a server that is not known would refuse or overlook them: they are not sent. */
export const ignoredSampling = (kind: ServerKind): readonly SamplingName[] =>
  kind === "plain" || kind === "tei" ? ["topK", "minP", "repeatPenalty"] : [];

/** What sampling is called there. A server's own defaults differ, so all is said that it knows. */
export function toSampling(sampling: Sampling, kind: ServerKind): object {
  const { temperature, topP, topK, minP, presencePenalty, frequencyPenalty, repeatPenalty } =
    sampling;
  const known = {
    temperature,
    top_p: topP,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
  };
  switch (kind) {
    case "vllm":
    case "sglang":
      return {
        ...known,
        // They take no 0, which leaves the likeliest token only.
        top_p: Math.max(topP, smallestTopP),
        top_k: topK === 0 ? -1 : topK,
        min_p: minP,
        repetition_penalty: repeatPenalty,
      };
    case "llama-server":
    case "paddock":
      return { ...known, top_k: topK, min_p: minP, repeat_penalty: repeatPenalty };
    default:
      // The API's own defaults; some servers refuse them where they are written.
      return Object.fromEntries(
        Object.entries(known).filter(([name, value]) => value !== apiDefaults[name]),
      );
  }
}

const smallestTopP = 1e-6;

const apiDefaults: Readonly<Record<string, number>> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
};

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

/** What of a request's sampling is not sent: a server that does not know it would refuse or overlook it. */
export function ignoredSampling(kind: ServerKind): readonly SamplingName[] {
  if (kind === "llama-server" || kind === "paddock") return [];
  const isKnown = kind === "vllm" || kind === "sglang";
  return [...(isKnown ? [] : notOfTheApi), ...ofLlamaCpp];
}

const notOfTheApi = ["topK", "minP", "repeatPenalty"] as const;
const ofLlamaCpp = ["repeatLastN", "dryMultiplier", "dryBase", "dryAllowedLength"] as const;

/** What sampling is called there. A server's own defaults differ, so all is said that it knows. */
export function toSampling(sampling: Sampling, kind: ServerKind, contextSize: number): object {
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
      return {
        ...known,
        top_k: topK,
        min_p: minP,
        repeat_penalty: repeatPenalty,
        ...toRepetition(sampling, contextSize),
      };
    default:
      // The API's own defaults; some servers refuse them where they are written.
      return Object.fromEntries(
        Object.entries(known).filter(([name, value]) => value !== apiDefaults[name]),
      );
  }
}

/** Said only where it is used: llama-server takes no -1, and has a short window by default. */
function toRepetition(sampling: Sampling, contextSize: number): object {
  const { repeatLastN, dryMultiplier } = sampling;
  const window = repeatLastN < 0 ? contextSize : repeatLastN;
  return {
    ...(repeatLastN < 0 ? {} : { repeat_last_n: window }),
    ...(dryMultiplier === 0
      ? {}
      : {
          dry_multiplier: dryMultiplier,
          dry_base: sampling.dryBase,
          dry_allowed_length: sampling.dryAllowedLength,
          dry_penalty_last_n: window,
        }),
  };
}

const smallestTopP = 1e-6;

const apiDefaults: Readonly<Record<string, number>> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
};

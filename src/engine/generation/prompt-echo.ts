/** The prompt before its answer, for completions with `echo`, with log probabilities if requested. */
import type { GenerationEvent, TokenLogprobs } from "../../core/ports/chat-engine.ts";
import type { Prompt } from "../prompt/prompt-template.ts";
import type { PromptScores } from "../scheduling/answer.ts";
import type { TokenBytes } from "../tokenizer/vocabulary.ts";
import { describe, toLogprobs } from "./sampling.ts";

export type Emit = (event: GenerationEvent) => void;

/** Tokens per event with log probabilities: the node spends milliseconds on each event. */
const tokensOfPart = 256;

export class PromptEcho {
  readonly #tokenBytes: TokenBytes;
  readonly #top: number | undefined;
  /** The first part has all of the text. */
  #text: string;
  #unsent: TokenLogprobs[] = [];

  /** `top`: how many alternatives to each token are reported; undefined: no log probabilities. */
  constructor({ tokens, echoed = "" }: Prompt, tokenBytes: TokenBytes, top: number | undefined) {
    this.#text = echoed;
    this.#tokenBytes = tokenBytes;
    this.#top = top;
    const [first] = tokens;
    if (top === undefined || first === undefined) return;
    // Nothing comes before the first token, so nothing scores it.
    this.#unsent.push({ ...describe(tokenBytes, first, 0), top: [] });
  }

  /** Whether it is emitted only after the prompt has been evaluated. */
  get isScored(): boolean {
    return this.#top !== undefined;
  }

  /** Emits the prompt as it is scored, in parts. */
  scores(scorer: PromptScores["scorer"], emit: Emit): PromptScores {
    const top = this.#top ?? 0;
    return {
      scorer,
      top,
      take: (logits) => {
        this.#unsent.push(toLogprobs(this.#tokenBytes, logits, top));
        if (this.#unsent.length === tokensOfPart) this.emit(emit);
      },
    };
  }

  emit(emit: Emit): void {
    const [text, logprobs] = [this.#text, this.#unsent];
    if (text === "" && logprobs.length === 0) return;
    emit({ type: "text", text, ...(this.isScored ? { logprobs } : {}), echoed: true });
    this.#text = "";
    this.#unsent = [];
  }
}

/** Gives the prompt back before its answer, with the log probabilities of its tokens where they are wanted. */
import type { GenerationEvent, TokenLogprobs } from "../../core/ports/chat-engine.ts";
import type { Prompt } from "../prompt/prompt-template.ts";
import { describe, toLogprobs } from "../sampling/logprobs.ts";
import type { PromptScores } from "../scheduling/answer.ts";
import type { TokenBytes } from "../tokenizer/token-bytes.ts";

export class PromptEcho {
  readonly #prompt: Pick<Prompt, "tokens" | "echoed">;
  readonly #tokenBytes: TokenBytes;
  readonly #top: number | undefined;
  readonly #scores: TokenLogprobs[] = [];
  #isDone = false;

  /** `top`: how many alternatives to each token are reported; undefined: no log probabilities. */
  constructor(
    prompt: Pick<Prompt, "tokens" | "echoed">,
    tokenBytes: TokenBytes,
    top: number | undefined,
  ) {
    this.#prompt = prompt;
    this.#tokenBytes = tokenBytes;
    this.#top = top;
  }

  /** Whether it comes only when the prompt has been evaluated. */
  get isScored(): boolean {
    return this.#top !== undefined;
  }

  scores(scorer: PromptScores["scorer"]): PromptScores {
    const top = this.#top ?? 0;
    return {
      scorer,
      top,
      take: (logits) => {
        this.#scores.push(toLogprobs(this.#tokenBytes, logits, top));
      },
    };
  }

  /** Does nothing the second time, nor where no echo is wanted. */
  emit(emit: (event: GenerationEvent) => void): void {
    const { echoed: text, tokens } = this.#prompt;
    const [first] = tokens;
    if (this.#isDone || text === undefined || first === undefined) return;
    this.#isDone = true;
    if (this.isScored) {
      const logprobs = [{ ...describe(this.#tokenBytes, first, 0), top: [] }, ...this.#scores];
      emit({ type: "text", text, logprobs, echoed: true });
    } else if (text !== "") {
      emit({ type: "text", text, echoed: true });
    }
  }
}

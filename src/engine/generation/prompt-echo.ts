/** Gives the prompt back before its answer, with the log probabilities of its tokens where they are wanted. */
import type { GenerationEvent, TokenLogprobs } from "../../core/ports/chat-engine.ts";
import type { Prompt } from "../prompt/prompt-template.ts";
import type { PromptScores } from "../scheduling/answer.ts";
import type { TokenBytes } from "../tokenizer/vocabulary.ts";
import { describe, toLogprobs } from "./sampling.ts";

/** Tokens whose log probabilities are one event: what the node does for one takes milliseconds. */
const tokensOfPart = 256;

type Emit = (event: GenerationEvent) => void;

export class PromptEcho {
  readonly #prompt: Pick<Prompt, "tokens" | "echoed">;
  readonly #tokenBytes: TokenBytes;
  readonly #top: number | undefined;
  /** Of the tokens that were scored and not emitted yet. */
  #unsent: TokenLogprobs[] = [];
  #hasBegun = false;
  #hasEmitted = false;
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

  /** Emits the prompt as it is scored, in parts. */
  scores(scorer: PromptScores["scorer"], emit: Emit): PromptScores {
    const top = this.#top ?? 0;
    return {
      scorer,
      top,
      take: (logits) => {
        this.#begin();
        this.#unsent.push(toLogprobs(this.#tokenBytes, logits, top));
        if (this.#unsent.length === tokensOfPart) this.#emitPart(emit);
      },
    };
  }

  /** What is left of it. Does nothing the second time, nor where no echo is wanted. */
  emit(emit: Emit): void {
    const { echoed: text } = this.#prompt;
    if (this.#isDone || text === undefined) return;
    this.#isDone = true;
    if (this.isScored) {
      this.#begin();
      if (this.#unsent.length > 0) this.#emitPart(emit);
    } else if (text !== "") {
      emit({ type: "text", text, echoed: true });
    }
  }

  /** Nothing comes before the first token, so nothing scores it. */
  #begin(): void {
    const [first] = this.#prompt.tokens;
    if (this.#hasBegun || first === undefined) return;
    this.#hasBegun = true;
    this.#unsent.push({ ...describe(this.#tokenBytes, first, 0), top: [] });
  }

  /** The first part has all of the text. */
  #emitPart(emit: Emit): void {
    const text = this.#hasEmitted ? "" : (this.#prompt.echoed ?? "");
    this.#hasEmitted = true;
    emit({ type: "text", text, logprobs: this.#unsent, echoed: true });
    this.#unsent = [];
  }
}

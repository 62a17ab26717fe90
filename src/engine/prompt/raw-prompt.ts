/** Prompts without a chat template: what the caller wrote becomes tokens, and nothing else does. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type { CompletionRequest, RawPrompt } from "../../core/ports/chat-engine.ts";
import type { ModelTokenizer } from "../tokenizer/model-tokenizer.ts";
import { LoopYield } from "../tokenizer/sliced-tokenizer.ts";
import { detokenize } from "../tokenizer/vocabulary.ts";
import { beginning, type Prompt, type PromptBounds } from "./prompt-template.ts";

/** The prompt; undefined if it is too long to tokenize. */
export async function renderRaw(
  { model, sliced, bytes }: ModelTokenizer,
  { prompt, suffix, echo }: CompletionRequest,
  { most, signal }: PromptBounds,
): Promise<Prompt | undefined> {
  const loop = new LoopYield(signal);
  const tokensOf = (text: RawPrompt): Promise<Token[] | undefined> | Token[] | undefined => {
    if (typeof text === "string") return sliced.tokens(text, { most, loop }, true);
    if (text.length > most) return undefined;
    return bytes.tokensOf(text, (why) => refused(`The prompt ${why}`));
  };
  const written = await tokensOf(prompt);
  if (written === undefined) return undefined;
  const infill = suffix === undefined ? undefined : infillOf(model);
  const after = await tokensOf(suffix ?? "");
  if (after === undefined) return undefined;
  const tokens =
    infill === undefined
      ? whole(model, prompt, written)
      : beginning(model, [infill.prefix, ...written, infill.suffix, ...after, infill.middle]);
  const text = async (): Promise<string> =>
    typeof prompt === "string"
      ? prompt
      : await detokenize(model, bytes, written, { special: false, loop });
  return { ...rawPrompt, tokens, echoed: echo === true ? await text() : undefined };
}

/** A text begins as the model's file says; an empty one is the beginning of a document. */
function whole(model: LlamaModel, prompt: RawPrompt, tokens: Token[]): Token[] {
  if (tokens.length > 0) return typeof prompt === "string" ? beginning(model, tokens) : tokens;
  const first = model.tokens.bos ?? model.tokens.eos;
  if (first !== null) return [first];
  throw refused("The prompt is empty, and this model needs some text.");
}

/** Fill in the middle: prefix, suffix, and the answer between them. */
function infillOf({
  tokens: { infill },
}: LlamaModel): Record<"prefix" | "suffix" | "middle", Token> {
  const { prefix, suffix, middle } = infill;
  if (prefix !== null && suffix !== null && middle !== null) return { prefix, suffix, middle };
  throw new NodeError(
    "invalid_request",
    "'suffix' cannot be honoured: this model was not trained to fill in the middle. Ask a model whose vocabulary has the tokens for it, such as a coder's, or leave 'suffix' out.",
    { param: "suffix" },
  );
}

const refused = (message: string): NodeError =>
  new NodeError("invalid_request", message, { subject: { part: "prompt" } });

/** Text as it is: no marker means anything. */
const rawPrompt = {
  isRaw: true,
  markers: { thoughts: [], calls: [], noise: [], ends: [] },
  startsInThought: undefined,
  calls: {
    syntax: { prefix: "", paramsPrefix: () => "", suffix: () => "", between: "" },
    opening: [],
    parallel: false,
  },
} satisfies Partial<Prompt>;

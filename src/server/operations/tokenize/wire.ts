/** Texts and their tokens between the wire and the domain: pure functions, no HTTP. */
import { given } from "../../../core/given.ts";
import type { PieceForm, TokenizedText, TokenizerInput } from "../../../core/ports/tokenizer.ts";
import { refuse } from "../../wire/fields.ts";
import { toChatMessages } from "../../wire/messages.ts";
import { toTool } from "../../wire/tools.ts";
import type { TokenizeRequest, TokenizeResult } from "./schema.ts";

/** What is tokenised, and the field that it came in. */
interface ReadInput {
  input: TokenizerInput;
  field: "prompt" | "content" | "messages";
}

const sources = ["prompt", "content", "messages"] as const;

export function toTokenizerInput(body: TokenizeRequest): ReadInput {
  const sent = sources.filter((name) => body[name] !== null && body[name] !== undefined);
  const [field, second] = sent;
  if (field === undefined) throw refuse("prompt", "is required; or 'messages', or 'content'");
  if (second !== undefined)
    throw refuse(second, `cannot stand beside '${field}'; send one of them`);
  return { field, input: field === "messages" ? toChat(body) : toText(body, field) };
}

function toText(body: TokenizeRequest, field: "prompt" | "content"): TokenizerInput {
  if (body.tools) throw refuse("tools", "needs 'messages'");
  return {
    text: body[field] ?? "",
    // The default of each of the two servers.
    addSpecial: saidOfSpecial(body) ?? field === "prompt",
    parseSpecial: body.parse_special ?? true,
    ...given({ pieces: toPieces(body) }),
  };
}

function toChat(body: TokenizeRequest): TokenizerInput {
  if (body.add_generation_prompt === false) {
    throw refuse(
      "add_generation_prompt",
      "cannot be false: a template ends where the answer begins",
    );
  }
  if (saidOfSpecial(body) === true) {
    const param = body.add_special_tokens ? "add_special_tokens" : "add_special";
    throw refuse(param, "cannot be true with 'messages': their template has the special tokens");
  }
  if (body.parse_special === false)
    throw refuse("parse_special", "cannot be false with 'messages'");
  const tools = body.tools?.map(toTool);
  return {
    messages: toChatMessages(body.messages ?? []),
    ...given({ tools, pieces: toPieces(body) }),
  };
}

function saidOfSpecial(body: TokenizeRequest): boolean | undefined {
  const { add_special_tokens: one, add_special: other } = body;
  if (typeof one === "boolean" && typeof other === "boolean" && one !== other) {
    throw refuse("add_special", "says another thing than 'add_special_tokens'; send one of them");
  }
  return one ?? other ?? undefined;
}

function toPieces({ return_token_strs: strings, with_pieces: pieces }: TokenizeRequest) {
  if (strings && pieces) {
    throw refuse("with_pieces", "cannot stand beside 'return_token_strs'; send one of them");
  }
  const form: PieceForm | undefined = strings ? "vocabulary" : pieces ? "text" : undefined;
  return form;
}

export function toTokenizeResult(
  { tokens, pieces }: TokenizedText,
  { input: { pieces: form }, contextSize }: Pick<ReadInput, "input"> & { contextSize: number },
): TokenizeResult {
  const ids = Array.from(tokens);
  const withPieces = (): TokenizeResult["tokens"] =>
    ids.map((id, at) => ({ id, piece: toPiece(pieces?.[at] ?? "") }));
  return {
    count: ids.length,
    max_model_len: contextSize,
    tokens: form === "text" ? withPieces() : ids,
    token_strs: form === "vocabulary" ? (pieces ?? []).map(String) : null,
  };
}

const toPiece = (piece: string | readonly number[]): string | number[] =>
  typeof piece === "string" ? piece : [...piece];

/** Finds the special tokens that a text writes out: `<|im_start|>`, `</s>`. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { toToken } from "../native/sampler.ts";
import { markerKinds } from "./token-bytes.ts";

/** Characters that are looked at in some milliseconds at worst. */
const pauseLength = 65_536;

/** A trie by UTF-16 units, so that a place of a text costs no more than the longest special token. */
interface Branch {
  next: Map<number, Branch>;
  token?: Token;
}

export class SpecialTokens {
  readonly #root: Branch = { next: new Map() };

  constructor(model: LlamaModel) {
    const { tokens, token_type: kinds = [] } = model.fileInfo.metadata.tokenizer.ggml;
    for (const [id, kind] of kinds.entries()) {
      const text = tokens[id];
      if (markerKinds.has(kind) && text) this.#add(text, toToken(id));
    }
  }

  /**
   * The text between special tokens, and those tokens, in their order; undefined now and then,
   * where the event loop may turn.
   */
  *split(text: string): Generator<string | Token | undefined> {
    let from = 0;
    let paused = 0;
    for (let at = 0; at < text.length; ) {
      if (at - paused >= pauseLength) {
        paused = at;
        yield undefined;
      }
      const found = this.#longestAt(text, at);
      if (found === undefined) {
        at++;
        continue;
      }
      if (at > from) yield text.slice(from, at);
      yield found.token;
      at += found.length;
      from = at;
    }
    if (from < text.length) yield text.slice(from);
  }

  #add(text: string, token: Token): void {
    let branch = this.#root;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const next = branch.next.get(unit) ?? { next: new Map() };
      branch.next.set(unit, next);
      branch = next;
    }
    branch.token ??= token;
  }

  #longestAt(text: string, start: number): { token: Token; length: number } | undefined {
    let found: { token: Token; length: number } | undefined;
    let branch = this.#root.next.get(text.charCodeAt(start));
    for (let at = start + 1; branch !== undefined; at++) {
      if (branch.token !== undefined) found = { token: branch.token, length: at - start };
      branch = branch.next.get(text.charCodeAt(at));
    }
    return found;
  }
}

/** Log probabilities of one choice, written as JSON while they come: a long prompt's would hold the loop at the end. */
import type { Logprobs } from "./logprobs.ts";

const names = ["tokens", "token_logprobs", "top_logprobs", "text_offset"] as const;

export class WrittenLogprobs {
  readonly #parts = names.map((name): { name: keyof Logprobs; written: string[] } => ({
    name,
    written: [],
  }));

  add(more: Logprobs): void {
    if (more.tokens.length === 0) return;
    for (const { name, written } of this.#parts) {
      written.push(JSON.stringify(more[name]).slice(1, -1));
    }
  }

  /** As JSON. */
  get json(): string {
    const lists = this.#parts.map(({ name, written }) => `"${name}":[${written.join(",")}]`);
    return `{${lists.join(",")}}`;
  }
}

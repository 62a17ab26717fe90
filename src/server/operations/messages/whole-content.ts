/** Content blocks put together from their events, for callers who want a message whole. */
import { NodeError } from "../../../core/errors.ts";
import { quoted } from "../../../core/quoted.ts";
import type { ContentBlock } from "./answer-schema.ts";
import type { BlockEvent } from "./content-blocks.ts";

export class WholeContent {
  readonly #blocks: { block: ContentBlock; text: string; signature: string }[] = [];

  take(event: BlockEvent): void {
    if (event.type === "content_block_start") {
      this.#blocks.push({ block: event.content_block, text: "", signature: "" });
      return;
    }
    const last = this.#blocks.at(-1);
    if (event.type === "content_block_stop" || last === undefined) return;
    const { delta } = event;
    switch (delta.type) {
      case "text_delta":
        last.text += delta.text;
        break;
      case "thinking_delta":
        last.text += delta.thinking;
        break;
      case "input_json_delta":
        last.text += delta.partial_json;
        break;
      case "signature_delta":
        last.signature = delta.signature;
        break;
    }
  }

  /** `isCut`: the answer had no room for its end. */
  content({ isCut }: { isCut: boolean }): ContentBlock[] {
    return this.#blocks.map(({ block, text, signature }): ContentBlock => {
      if (block.type === "text") return { ...block, text };
      if (block.type === "thinking") return { ...block, thinking: text, signature };
      return { ...block, input: toInput(block.name, text, isCut) };
    });
  }
}

/** Of a call that was cut short nothing can be told: its input is empty, and the message's end says why. */
function toInput(name: string, text: string, isCut: boolean): unknown {
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    if (isCut) return {};
    throw new NodeError(
      "upstream_failed",
      `The server that runs the model called the tool ${quoted(name)} with what is not JSON.`,
    );
  }
}

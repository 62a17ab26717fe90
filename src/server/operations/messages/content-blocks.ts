/** What a model writes, as the content blocks of an answer: one after the other, each opened and closed. */
import type { GenerationEvent } from "../../../core/ports/chat-engine.ts";
import { interleavedCalls } from "../../wire/broken-answer.ts";
import type { ContentBlock, Delta, MessageEvent } from "./answer-schema.ts";
import type { Thoughts } from "./wire.ts";

export type BlockEvent = Extract<MessageEvent, { type: `content_block_${string}` }>;

type Open =
  | { type: "text" }
  | { type: "thinking"; digest: Bun.CryptoHasher }
  | { type: "call"; call: number };

export class ContentBlocks {
  readonly #thoughts: Thoughts;
  #open: Open | undefined;
  /** Of the block that was opened last. */
  #index = -1;

  constructor(thoughts: Thoughts) {
    this.#thoughts = thoughts;
  }

  take(event: GenerationEvent): BlockEvent[] {
    switch (event.type) {
      case "text":
        return [...this.#inText(), this.#delta({ type: "text_delta", text: event.text })];
      case "reasoning":
        return this.#thoughts === "hidden" ? [] : this.#think(event.text);
      case "tool-call": {
        const { id, name } = event;
        const block = {
          type: "tool_use",
          id,
          name,
          input: {},
          caller: { type: "direct" },
        } as const;
        return this.#start({ type: "call", call: event.index }, block);
      }
      case "tool-arguments":
        this.#checkCall(event.index);
        return [this.#delta({ type: "input_json_delta", partial_json: event.text })];
      case "finish":
        return this.#close();
    }
  }

  #inText(): BlockEvent[] {
    if (this.#open?.type === "text") return [];
    return this.#start({ type: "text" }, { type: "text", text: "" });
  }

  #think(thinking: string): BlockEvent[] {
    const opened = this.#inThought();
    if (this.#open?.type === "thinking") this.#open.digest.update(thinking);
    if (this.#thoughts === "omitted") return opened;
    return [...opened, this.#delta({ type: "thinking_delta", thinking })];
  }

  #inThought(): BlockEvent[] {
    if (this.#open?.type === "thinking") return [];
    const open: Open = { type: "thinking", digest: new Bun.CryptoHasher("sha256") };
    return this.#start(open, { type: "thinking", thinking: "", signature: "" });
  }

  #start(open: Open, block: ContentBlock): BlockEvent[] {
    const closed = this.#close();
    this.#open = open;
    this.#index++;
    return [...closed, { type: "content_block_start", index: this.#index, content_block: block }];
  }

  #delta(delta: Delta): BlockEvent {
    return { type: "content_block_delta", index: this.#index, delta };
  }

  #close(): BlockEvent[] {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return [];
    const stop: BlockEvent = { type: "content_block_stop", index: this.#index };
    if (open.type !== "thinking") return [stop];
    // Clients keep only signed thoughts; whoever runs the model has no signature of its own.
    const signature = open.digest.digest("base64url");
    return [this.#delta({ type: "signature_delta", signature }), stop];
  }

  #checkCall(call: number): void {
    if (this.#open?.type === "call" && this.#open.call === call) return;
    throw interleavedCalls();
  }
}

/** Renders a conversation into the tokens that the model was trained to read. */
import type { ChatHistoryItem, ChatWrapper, LlamaModel, Token } from "node-llama-cpp";
import type { ChatMessage } from "../core/ports/chat-engine.ts";

export interface Prompt {
  tokens: Token[];
  /** Tokens that end the answer, besides those that the model marks itself. */
  stopTokens: ReadonlySet<Token>;
}

export class PromptTemplate {
  readonly #model: LlamaModel;
  readonly #wrapper: ChatWrapper;

  constructor(model: LlamaModel, wrapper: ChatWrapper) {
    this.#model = model;
    this.#wrapper = wrapper;
  }

  get name(): string {
    return this.#wrapper.wrapperName;
  }

  render(messages: readonly ChatMessage[]): Prompt {
    const chatHistory: ChatHistoryItem[] = [
      ...messages.map(toHistoryItem),
      { type: "model", response: [] },
    ];
    const state = this.#wrapper.generateContextState({ chatHistory });
    const tokens = state.contextText.tokenize(this.#model.tokenizer);
    const { bos, shouldPrependBosToken } = this.#model.tokens;
    if (shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    const stopTokens = state.stopGenerationTriggers
      .map((trigger) => trigger.tokenize(this.#model.tokenizer))
      .flatMap(([token, ...rest]) => (token === undefined || rest.length > 0 ? [] : [token]));
    return { tokens, stopTokens: new Set(stopTokens) };
  }
}

function toHistoryItem({ role, content }: ChatMessage): ChatHistoryItem {
  switch (role) {
    case "system":
      return { type: "system", text: content };
    case "user":
      return { type: "user", text: content };
    case "assistant":
      return { type: "model", response: [content] };
  }
}

/** A model's chat template: renders a conversation to tokens, and knows the markers of the model's answers. */
import {
  type ChatHistoryItem,
  type ChatModelFunctions,
  ChatModelFunctionsDocumentationGenerator,
  type ChatWrapper,
  type GbnfJsonSchema,
  isLlamaText,
  JinjaTemplateChatWrapper,
  type LlamaModel,
  LlamaText,
  resolveChatWrapper,
  type SpecializedChatWrapperTypeName,
  SpecialToken,
  SpecialTokensText,
  type Token,
} from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { PromptTemplateName } from "../../core/models/model.ts";
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";
import { Turns } from "../../core/turns.ts";
import type { Markers } from "../generation/segmenter.ts";
import type { CallSyntax } from "../generation/tool-call-parser.ts";
import { LoopYield, SlicedTokenizer } from "../tokenizer/sliced-tokenizer.ts";
import { textsOf, toChatHistory } from "./chat-history.ts";

export interface Prompt {
  tokens: Token[];
  markers: Omit<Markers, "stops">;
  /** If the prompt itself opens a thought: the marker that closes it. */
  startsInThought: string | undefined;
  calls: CallStyle;
  /** Whether the answer goes on where the prompt ends, in the middle of a text. */
  isRaw?: boolean;
  echoed?: string | undefined;
}

export interface PromptBounds {
  most: number;
  signal?: AbortSignal | undefined;
  caller?: string | undefined;
}

export interface CallStyle {
  syntax: CallSyntax;
  /** The tokens before the first tool's name. */
  opening: Token[];
  /** Whether the template has a place for several calls in one answer. */
  parallel: boolean;
}

type ContextState = ReturnType<ChatWrapper["generateContextState"]>;

export class PromptTemplate {
  readonly #model: LlamaModel;
  readonly #wrapper: ChatWrapper;
  readonly #tokenizer: SlicedTokenizer;
  /** A template takes a tenth of a second for a thousand messages, all at once. */
  readonly #turns = new Turns();

  constructor(model: LlamaModel, wrapper: ChatWrapper) {
    this.#model = model;
    this.#tokenizer = new SlicedTokenizer(model);
    this.#wrapper = wrapper;
  }

  get name(): string {
    return this.#wrapper.wrapperName;
  }

  /** Whether it has a place for thoughts before an answer. */
  get hasThoughts(): boolean {
    return this.#wrapper.settings.segments?.thought !== undefined;
  }

  /** The prompt; undefined if it is too long to tokenize. */
  async render(
    messages: readonly ChatMessage[],
    offered: readonly Tool[] | undefined,
    { most, signal, caller }: PromptBounds,
  ): Promise<Prompt | undefined> {
    const tools = offered ?? [];
    if (this.#tokenizer.cannotFit(textsOf(messages), most)) return undefined;
    await this.#turns.next(caller);
    signal?.throwIfAborted();
    const state = this.#stateOf(toChatHistory(messages), tools);
    const budget = { most, loop: new LoopYield(signal) };
    const tokens = await this.#tokenizer.tokensOf(state.contextText, budget);
    if (tokens === undefined) return undefined;
    const markers = this.#markers(state, tools.length > 0);
    return {
      tokens: beginning(this.#model, tokens),
      markers,
      startsInThought: this.#openThought(state, markers),
      calls: this.#callStyle(state),
    };
  }

  #stateOf(chatHistory: ChatHistoryItem[], tools: readonly Tool[]): ContextState {
    if (tools.length === 0) return this.#wrapper.generateContextState({ chatHistory });
    const availableFunctions = toFunctions(tools);
    const documented = { chatHistory, availableFunctions, documentFunctionParams: true };
    try {
      return this.#wrapper.generateContextState(documented);
    } catch (error) {
      const at = tools.findIndex((tool) => !isPrintable(tool));
      if (at === -1) throw error;
      const why =
        "The schema cannot be written into the prompt: a part of it is not what JSON Schema wants there.";
      throw new NodeError("invalid_request", why, { cause: error, subject: { part: "tools", at } });
    }
  }

  /** The marker that closes the thought in which the prompt ends, or in which every answer starts. */
  #openThought(state: ContextState, { thoughts }: Prompt["markers"]): string | undefined {
    const { thought } = this.#wrapper.settings.segments ?? {};
    if (thought?.suffix !== undefined && thought.prefix !== undefined && !isText(thought.prefix)) {
      return this.#raw(thought.suffix).trim();
    }
    const end = this.#raw(state.contextText).trimEnd();
    return thoughts.find(({ open }) => end.endsWith(open))?.close;
  }

  #markers(state: ContextState, offersTools: boolean): Prompt["markers"] {
    const raw = (text: string | LlamaText): string => this.#raw(text);
    const { functions, segments = {} } = this.#wrapper.settings;
    const prefixTriggers = prefixTriggersOf(state);
    const callTriggers = prefixTriggers
      .filter(({ type }) => type === "functionCall")
      .flatMap(({ triggers }) => triggers.map(raw));
    const { call, parallelism } = functions;
    const opening = [parallelism?.call.sectionPrefix ?? "", call.prefix].map(raw).join("").trim();
    const alternatives = (call.prefixAlternateMatches ?? []).map(raw);
    const thoughts = [segments.thought, segments.comment].flatMap((segment) => {
      if (segment?.prefix === undefined || segment.suffix === undefined) return [];
      const close = raw(segment.suffix).trim();
      // A thought that every answer starts in has no marker of its own.
      const open = isText(segment.prefix) ? raw(segment.prefix).trim() : "";
      return [{ open, close }];
    });
    const noise = prefixTriggers
      .filter((trigger) => trigger.type === "response")
      .flatMap(({ triggers, inject = "" }) => triggers.map((text) => raw(text) + raw(inject)));
    const started = "ignoreStartText" in state ? (state.ignoreStartText ?? []) : [];
    const rerender = "rerender" in state ? (state.rerender?.triggers ?? []) : [];
    const ends = [...state.stopGenerationTriggers, ...rerender].map(raw);
    return {
      thoughts: thoughts.filter(({ open }) => open !== ""),
      calls: offersTools ? present([opening, ...alternatives, ...callTriggers]) : [],
      noise: present([...(noise.length === 0 ? [] : [...noise, harmonyTurn]), ...started.map(raw)]),
      ends: present(ends),
    };
  }

  #callStyle(state: ContextState): CallStyle {
    const { call, parallelism } = this.#wrapper.settings.functions;
    const named = (text: string | LlamaText) => (name: string) =>
      this.#raw(text).replaceAll("{{functionName}}", name);
    // Some templates open a channel before they call.
    const channel = prefixTriggersOf(state).find(({ type }) => type === "functionCall")?.inject;
    const section = parallelism?.call.sectionPrefix ?? "";
    const opening = LlamaText([channel ?? "", section, call.prefix]);
    return {
      syntax: {
        prefix: this.#raw(call.prefix),
        paramsPrefix: named(call.paramsPrefix),
        suffix: named(call.suffix),
        between: this.#raw(parallelism?.call.betweenCalls ?? ""),
      },
      opening: opening.tokenize(this.#model.tokenizer, "trimLeadingSpace"),
      parallel: parallelism !== undefined,
    };
  }

  #raw(text: string | LlamaText): string {
    return LlamaText(text)
      .values.map((value) => {
        if (typeof value === "string") return value;
        if (value instanceof SpecialTokensText) return value.value;
        if (!(value instanceof SpecialToken)) return "";
        return this.#model.detokenize(value.tokenize(this.#model.tokenizer), true);
      })
      .join("");
  }
}

/** The tokens, after the one that begins a text if the model's file says so. */
export function beginning({ tokens: known }: LlamaModel, tokens: Token[]): Token[] {
  const { bos, shouldPrependBosToken } = known;
  const begins = shouldPrependBosToken && bos !== null && tokens[0] !== bos;
  return begins ? [bos, ...tokens] : tokens;
}

const prefixTriggersOf = (state: ContextState) =>
  "prefixTriggers" in state ? (state.prefixTriggers ?? []) : [];

/** gpt-oss begins a new turn after each of its channels. */
const harmonyTurn = "<|start|>assistant";

const isText = (value: object | string): value is string | LlamaText =>
  typeof value === "string" || isLlamaText(value);

const present = (texts: readonly string[]): string[] => [
  ...new Set(texts.filter((text) => text.trim() !== "")),
];

function toFunctions(tools: readonly Tool[]): ChatModelFunctions {
  return Object.fromEntries(
    tools.map(({ name, description, parameters }) => [
      name,
      {
        ...given({ description }),
        ...(isSchema(parameters) ? { params: parameters } : {}),
      },
    ]),
  );
}

/** The library only prints the schema into the prompt; our own grammar enforces it. */
const isSchema = (value: unknown): value is GbnfJsonSchema =>
  typeof value === "object" && value !== null;

/** The library fails at a schema that is none, such as that of `a` in `{"properties": {"a": null}}`. */
function isPrintable(tool: Tool): boolean {
  try {
    const printer = new ChatModelFunctionsDocumentationGenerator(toFunctions([tool]));
    printer.getTypeScriptFunctionSignatures({ documentParams: true });
    return true;
  } catch {
    return false;
  }
}

/** Templates by their names in a configuration: the library's wrappers, or Jinja. */
const templates: Record<
  PromptTemplateName,
  SpecializedChatWrapperTypeName | "auto" | { template: string }
> = {
  auto: "auto",
  alpaca: "alpacaChat",
  chatml: "chatML",
  "deepseek-chat": "deepSeek",
  "falcon-chat": "falconChat",
  "gemma-instruct": "gemma",
  "gpt-oss": "harmony",
  "llama-2-chat": "llama2Chat",
  "llama-3-chat": "llama3",
  "llama-3.1-chat": "llama3.1",
  "mistral-instruct": "mistral",
  "phi-3-chat": {
    template:
      "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
  },
  qwen: "qwen",
  "vicuna-1.1-chat": {
    template:
      "{% for message in messages %}{% if message['role'] == 'system' %}{{ message['content'] + ' ' }}{% elif message['role'] == 'user' %}{{ 'USER: ' + message['content'] + ' ' }}{% else %}{{ 'ASSISTANT: ' + message['content'] + '</s>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT: ' }}{% endif %}",
  },
  zephyr: {
    template:
      "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '</s>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
  },
};

/** No wrapper of the library writes this marker, and trying them all takes up to a second: the template is used as it is. */
const unknownToWrappers = "<|user|>";

export function chatWrapperFor(name: PromptTemplateName, model: LlamaModel): ChatWrapper {
  const wanted = templates[name];
  if (typeof wanted === "object") return new JinjaTemplateChatWrapper(wanted);
  const own = model.fileInfo.metadata.tokenizer.chat_template ?? "";
  const isUnknown = wanted === "auto" && own.includes(unknownToWrappers);
  const type = isUnknown ? "jinjaTemplate" : wanted;
  return resolveChatWrapper(model, { type, warningLogs: false });
}

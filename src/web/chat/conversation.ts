/** A conversation as the browser stores it, and its export formats. */
import type { ChatRequest } from "../../client/api-client.ts";
import type { ChatCompletionChunk, Retrieval } from "../../client/wire.ts";
import { newId } from "../browser.ts";

/** Whether answers come from the node's documents; `auto`: if they clearly match the question. */
export const groundings = ["off", "auto", "on"] as const;
export type Grounded = (typeof groundings)[number];
export const isGrounded = (value: unknown): value is Grounded =>
  groundings.some((one) => one === value);

export interface Settings {
  model: string;
  /** The system prompt; empty for none. */
  system: string;
  /** Absent: the model's own default. */
  temperature?: number | undefined;
  top_p?: number | undefined;
  max_tokens?: number | undefined;
  seed?: number | undefined;
  grounded: Grounded;
  /** Ids of the collections to answer from; absent: the node's own. */
  collections?: readonly string[] | undefined;
  /** Most passages for an answer; absent: the node's default. */
  passages?: number | undefined;
}

/** Small models ramble without a system prompt. */
export const defaultSettings: Settings = {
  model: "",
  system: "You are a helpful assistant.",
  grounded: "off",
};

export type NumberSetting = "temperature" | "top_p" | "max_tokens" | "seed" | "passages";

export interface Measures {
  promptTokens: number;
  tokens: number;
  /** From the question to the first piece of the answer. */
  firstTokenMs: number;
  /** From the first piece to the last. */
  restMs: number;
}

export interface UserTurn {
  id: string;
  role: "user";
  content: string;
  /** How many images it had; absent: none. */
  images?: number;
}

export interface AnswerTurn {
  id: string;
  role: "assistant";
  content: string;
  model: string;
  state: "writing" | "done" | "stopped" | "failed";
  thoughts?: string;
  /** Whether `max_tokens` or the context cut it off. */
  cut?: boolean;
  failure?: { message: string; canRetry: boolean };
  measures?: Measures;
  retrieval?: Retrieval;
}

export type Turn = UserTurn | AnswerTurn;

export interface Conversation {
  id: string;
  title: string;
  /** ISO 8601. */
  createdAt: string;
  settings: Settings;
  turns: Turn[];
}

export const untitled = "New conversation";

export function newConversation(settings: Settings): Conversation {
  const createdAt = new Date().toISOString();
  return { id: newId(), title: untitled, createdAt, settings, turns: [] };
}

const longestTitle = 60;

export function titleFrom(question: string): string {
  const line = question.trim().replace(/\s+/g, " ") || "An image";
  return line.length <= longestTitle ? line : `${line.slice(0, longestTitle - 1).trimEnd()}…`;
}

/** Tokens per second after the first; undefined if there was only one. */
export function speedOf({ tokens, restMs }: Measures): number | undefined {
  return tokens > 1 && restMs > 0 ? ((tokens - 1) / restMs) * 1000 : undefined;
}

export const exportFormats = {
  JSON: {
    extension: "json",
    type: "application/json",
    toText: (conversation: Conversation) => `${JSON.stringify(conversation, null, 2)}\n`,
  },
  Markdown: { extension: "md", type: "text/markdown", toText: toMarkdown },
} as const;

function toMarkdown({ title, createdAt, settings, turns }: Conversation): string {
  const system = settings.system.trim().replaceAll("\n", "\n> ");
  const quoted = system === "" ? [] : [`> ${system}`];
  const parts = [`# ${title}`, `${settings.model}, ${createdAt}`, ...quoted, ...turns.map(toPart)];
  return `${parts.join("\n\n")}\n`;
}

function toPart(turn: Turn): string {
  if (turn.role === "user") {
    const images = turn.images === undefined ? "" : `Images: ${turn.images}\n\n`;
    return `## You\n\n${images}${turn.content}`;
  }
  const sources = (turn.retrieval?.points ?? []).map(({ metadata, score }, at) => {
    const place = [metadata?.document, metadata?.heading].filter(Boolean).join(", ");
    return `${at + 1}. ${place || "A passage"} (${score.toFixed(2)})`;
  });
  const listed = sources.length === 0 ? "" : `\n\nSources:\n\n${sources.join("\n")}`;
  return `## ${turn.model}\n\n${turn.content}${listed}`;
}

export function fileNameOf({ title }: Conversation, extension: string): string {
  const name = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return `${name || "conversation"}.${extension}`;
}

// Builds the request for a conversation, and adds chunks to its answer.

/** Default limit of an answer's tokens, since a small model may not end by itself. */
export const mostTokens = 1024;

interface RequestOptions {
  /** Whether the model's configuration has a limit. */
  isLimited: boolean;
  /** The addresses of a turn's images, as far as they are known. */
  imagesOf: (turnId: string) => readonly string[];
}

export function toRequest(
  { settings, turns }: Conversation,
  { isLimited, imagesOf }: RequestOptions,
): ChatRequest {
  const { model, system, grounded: ___, passages: _, collections: __, ...sampling } = settings;
  return {
    model,
    stream_options: { include_usage: true },
    ...sampling,
    max_tokens: sampling.max_tokens ?? (isLimited ? undefined : mostTokens),
    // `false` is sent too: a node may be configured to ground every chat.
    rag: ragOf(settings),
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
      ...turns
        .filter(({ role, content }) => role === "user" || content !== "")
        .map(({ id, role, content }) => ({ role, content: withImages(content, imagesOf(id)) })),
    ],
  };
}

type MessageContent = ChatRequest["messages"][number]["content"];

function withImages(text: string, images: readonly string[]): NonNullable<MessageContent> {
  if (images.length === 0) return text;
  return [
    ...images.map((url) => ({ type: "image_url", image_url: { url } })),
    ...(text === "" ? [] : [{ type: "text", text }]),
  ];
}

/** An object only if something differs from the node's defaults. */
function ragOf({ grounded, passages, collections = [] }: Settings): ChatRequest["rag"] {
  if (grounded === "off") return false;
  const isAuto = grounded === "auto";
  if (passages === undefined && collections.length === 0) return isAuto ? "auto" : true;
  return {
    ...(isAuto ? { auto: true } : {}),
    ...(passages === undefined ? {} : { limit: passages }),
    ...(collections.length === 0 ? {} : { vector_store_ids: [...collections] }),
  };
}

export type Timing = Pick<Measures, "firstTokenMs" | "restMs">;

/** Whether a chunk contains text of the answer or of its reasoning. */
export const hasText = ({ choices }: ChatCompletionChunk): boolean =>
  choices.some(({ delta }) => Boolean(delta.content) || Boolean(delta.reasoning_content));

/** Returns the same turn if the chunk adds nothing, such as the first, which has only the role. */
export function withChunk(
  turn: AnswerTurn,
  { choices, usage, retrieval }: ChatCompletionChunk,
  timing: Timing,
): AnswerTurn {
  let grown = turn;
  for (const { delta, finish_reason: reason } of choices) {
    const { content, reasoning_content: thought } = delta;
    if (thought) grown = { ...grown, thoughts: (grown.thoughts ?? "") + thought };
    if (content) grown = { ...grown, content: grown.content + content };
    if (reason !== null) grown = { ...grown, cut: reason === "length" };
  }
  if (usage) {
    const { prompt_tokens: promptTokens, completion_tokens: tokens } = usage;
    grown = { ...grown, measures: { promptTokens, tokens, ...timing } };
  }
  return retrieval === undefined ? grown : { ...grown, retrieval };
}

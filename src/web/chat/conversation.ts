/** A conversation as the browser keeps it. */

import type { Retrieval } from "../../client/wire.ts";
import { newId } from "../id.ts";

/** Whether answers come from the node's documents; `auto`: where they clearly match the question. */
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
  /** Ids of the collections that such an answer comes from; absent: the node's own. */
  collections?: readonly string[] | undefined;
  /** The most passages that such an answer is given; absent: as many as the node gives. */
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
}

export interface AnswerTurn {
  id: string;
  role: "assistant";
  content: string;
  model: string;
  state: "writing" | "done" | "stopped" | "failed";
  /** A reasoning model's thoughts. */
  thoughts?: string;
  /** Whether `max_tokens` or the context cut it. */
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
  const line = question.trim().replace(/\s+/g, " ");
  return line.length <= longestTitle ? line : `${line.slice(0, longestTitle - 1).trimEnd()}…`;
}

/** Tokens a second after the first; undefined where there was no more than one. */
export function speedOf({ tokens, restMs }: Measures): number | undefined {
  return tokens > 1 && restMs > 0 ? ((tokens - 1) / restMs) * 1000 : undefined;
}

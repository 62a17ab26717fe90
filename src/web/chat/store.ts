/** The conversations of this browser, kept in its local storage. */
import { computed, signal } from "@preact/signals";
import { holdsOwnDocuments } from "../documents/own-documents.ts";
import { readItem, writeItem } from "../storage.ts";
import {
  type Conversation,
  defaultSettings,
  newConversation,
  type Settings,
  type Turn,
} from "./conversation.ts";

const listItem = "paddock.conversations";
const currentItem = "paddock.conversation";

export const conversations = signal(readConversations());
const currentId = signal(readItem("local", currentItem));

/** The one on the page; undefined before the first. */
export const current = computed(
  () => conversations.value.find(({ id }) => id === currentId.value) ?? conversations.value[0],
);

/** Whether the browser stores them: its storage may be full, or forbidden. */
export const isPersisted = signal(true);

/** The settings of a new conversation: those of the last one used. */
export const lastSettings = (): Settings => current.value?.settings ?? defaultSettings;

const groundedItem = "paddock.grounded";

/** What the reader chose last: whether answers come from documents; undefined where nothing was chosen yet. */
export function groundedChoice(): boolean | undefined {
  const kept = readItem("local", groundedItem);
  return kept === null ? undefined : kept === "on";
}

export function chooseGrounded(grounded: boolean): void {
  writeItem("local", groundedItem, grounded ? "on" : "off");
  changeSettings({ grounded });
}

/** The reader's own choice wins; else documents of the reader's own are to be answered from. */
const groundedAtFirst = (last: boolean): boolean =>
  groundedChoice() ?? (holdsOwnDocuments.value || last);

export function startConversation(): Conversation {
  const empty = conversations.value.find(({ turns }) => turns.length === 0);
  const settings = lastSettings();
  const grounded = groundedAtFirst(settings.grounded);
  const started = empty ?? newConversation({ ...settings, grounded });
  if (empty === undefined) conversations.value = [started, ...conversations.value];
  select(started.id);
  return started;
}

export function select(id: string): void {
  currentId.value = id;
  writeItem("local", currentItem, id);
  persist();
}

export function change(id: string, update: (conversation: Conversation) => Conversation): void {
  conversations.value = conversations.value.map((one) => (one.id === id ? update(one) : one));
}

export function changeTurn(id: string, turnId: string, update: (turn: Turn) => Turn): void {
  change(id, (one) => ({
    ...one,
    turns: one.turns.map((turn) => (turn.id === turnId ? update(turn) : turn)),
  }));
}

export function rename(id: string, title: string): void {
  if (title.trim() !== "") change(id, (one) => ({ ...one, title: title.trim() }));
  persist();
}

export function remove(id: string): void {
  conversations.value = conversations.value.filter((one) => one.id !== id);
  persist();
}

export function changeSettings(settings: Partial<Settings>): void {
  const { id } = current.value ?? startConversation();
  change(id, (one) => ({ ...one, settings: { ...one.settings, ...settings } }));
  persist();
}

export function persist(): void {
  isPersisted.value = writeItem("local", listItem, JSON.stringify(conversations.value));
}

/** Another tab of the same browser has changed them. */
addEventListener("storage", ({ key }) => {
  if (key === listItem) conversations.value = merge(readConversations());
});
addEventListener("pagehide", persist);

/** A conversation that this tab is writing an answer into is newer here than in the storage. */
function merge(read: readonly Conversation[]): Conversation[] {
  const writing = conversations.value.filter(({ turns }) => turns.some(isWriting));
  const ids = new Set(writing.map(({ id }) => id));
  return [...writing, ...read.filter(({ id }) => !ids.has(id))];
}

function readConversations(): Conversation[] {
  try {
    const read: unknown = JSON.parse(readItem("local", listItem) ?? "[]");
    return Array.isArray(read) ? read.filter(isConversation).map(settle) : [];
  } catch {
    return [];
  }
}

function isConversation(value: unknown): value is Conversation {
  if (typeof value !== "object" || value === null) return false;
  return "id" in value && "title" in value && "settings" in value && "turns" in value;
}

const isWriting = (turn: Turn): boolean => turn.role === "assistant" && turn.state === "writing";

/** An answer that was being written when the page was closed will not go on. */
function settle(conversation: Conversation): Conversation {
  const turns = conversation.turns.map((turn) =>
    turn.role === "assistant" && turn.state === "writing"
      ? { ...turn, state: "stopped" as const }
      : turn,
  );
  return { ...conversation, turns };
}

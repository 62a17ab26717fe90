/** The conversations of this browser, in its local storage, and what of the chat is open. */
import { computed, signal } from "@preact/signals";
import { readItem, writeItem } from "../browser.ts";
import { holdsPassages } from "../documents/collections.ts";
import {
  type Conversation,
  defaultSettings,
  type Grounded,
  isGrounded,
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
export function groundedChoice(): Grounded | undefined {
  const stored = readItem("local", groundedItem);
  return isGrounded(stored) ? stored : undefined;
}

export function chooseGrounded(grounded: Grounded): void {
  writeItem("local", groundedItem, grounded);
  changeSettings({ grounded });
}

/** The reader's own choice wins; else it is left to the node where there is anything to answer from. */
const groundedAtFirst = (): Grounded => groundedChoice() ?? (holdsPassages.value ? "auto" : "off");

export function startConversation(): Conversation {
  const empty = conversations.value.find(({ turns }) => turns.length === 0);
  const settings = lastSettings();
  const started = empty ?? newConversation({ ...settings, grounded: groundedAtFirst() });
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

/** An answer that was being written when the page was closed will not go on. Earlier versions stored a switch. */
function settle(conversation: Conversation): Conversation {
  const stored: unknown = conversation.settings.grounded;
  const grounded = isGrounded(stored) ? stored : stored === true ? "on" : "off";
  const turns = conversation.turns.map((turn) =>
    turn.role === "assistant" && turn.state === "writing"
      ? { ...turn, state: "stopped" as const }
      : turn,
  );
  return { ...conversation, settings: { ...conversation.settings, grounded }, turns };
}

export const settingsOpen = signal(false);
/** Where the screen is wide the list is always there; this is for narrow ones. */
export const listOpen = signal(false);

export const draft = signal("");

/** Waits until the page is drawn again: a dialog that is being closed still holds the focus. */
export function focusComposer(): void {
  setTimeout(() => document.getElementById("question")?.focus());
}

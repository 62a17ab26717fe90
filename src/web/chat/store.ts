/** The conversations of this browser, in its local storage, with settings that the node can honour, and what of the chat is open. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { readItem, writeItem } from "../browser.ts";
import { areAllKnown, collections, holdsPassages } from "../documents/collections.ts";
import { chatModels } from "../node/state.ts";
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
function groundedChoice(): Grounded | undefined {
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

/** Settings follow what the node has: its models, its collections, its documents. */
export function keepToTheNode(): void {
  keepToKnownModels();
  keepToKnownCollections();
  groundNewConversations();
}

/** The conversation on the page while it is empty; other changes of it, such as a question's own settings, are none of this. */
const emptyId = computed(() => {
  const { id, turns = [] } = current.value ?? {};
  return turns.length === 0 ? (id ?? "none yet") : undefined;
});

function groundNewConversations(): void {
  effect(() => {
    if (!holdsPassages.value || emptyId.value === undefined) return;
    untracked(() => {
      const isOpen = groundedChoice() === undefined && lastSettings().grounded === "off";
      if (isOpen) changeSettings({ grounded: "auto" });
    });
  });
}

/** A conversation goes on without the collections that were deleted; the node would refuse it with them. */
function keepToKnownCollections(): void {
  effect(() => {
    const chosen = current.value?.settings.collections ?? [];
    if (!areAllKnown.value || chosen.length === 0) return;
    const there = chosen.filter((id) => collections.value.some((store) => store.id === id));
    if (there.length === chosen.length) return;
    untracked(() => changeSettings({ collections: there.length === 0 ? undefined : there }));
  });
}

/** A conversation whose model the node does not have goes on with the first that it has. */
function keepToKnownModels(): void {
  effect(() => {
    const [first] = chatModels.value;
    const model = current.value?.settings.model;
    const known = chatModels.value.some(({ name }) => name === model);
    if (!known && first !== undefined) changeSettings({ model: first.name });
  });
}

/** State of the chat: the conversations in local storage, their settings, and open panels. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { readItem, writeItem } from "../browser.ts";
import { areAllKnown, collections, holdsPassages } from "../documents/collections.ts";
import { chatModels } from "../node/state.ts";
import {
  type AnswerTurn,
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

export const current = computed(
  () => conversations.value.find(({ id }) => id === currentId.value) ?? conversations.value[0],
);

/** Whether the browser stores them: its storage may be full, or forbidden. */
export const isPersisted = signal(true);

/** The settings of a new conversation: those of the last one used. */
export const lastSettings = (): Settings => current.value?.settings ?? defaultSettings;

const groundedItem = "paddock.grounded";

/** The user's last choice of whether answers come from documents; undefined if none was made. */
function groundedChoice(): Grounded | undefined {
  const stored = readItem("local", groundedItem);
  return isGrounded(stored) ? stored : undefined;
}

export function chooseGrounded(grounded: Grounded): void {
  writeItem("local", groundedItem, grounded);
  changeSettings({ grounded });
}

/** The user's choice, else `auto` if there are documents to answer from. */
const groundedAtFirst = (): Grounded => groundedChoice() ?? (holdsPassages.value ? "auto" : "off");

const modelItem = "paddock.model";

/** The model that the user chose last. */
const modelChoice = signal(readItem("local", modelItem));

export function chooseModel(model: string): void {
  modelChoice.value = model;
  writeItem("local", modelItem, model);
  changeSettings({ model });
}

/** The user's choice if the node has it, else the node's first, which may be newly pulled. */
const modelAtFirst = computed(() => {
  const names = chatModels.value.map(({ name }) => name);
  return names.find((name) => name === modelChoice.value) ?? names[0];
});

export function startConversation(): Conversation {
  const empty = conversations.value.find(({ turns }) => turns.length === 0);
  const settings = lastSettings();
  const model = modelAtFirst.value ?? settings.model;
  const started = empty ?? newConversation({ ...settings, model, grounded: groundedAtFirst() });
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

/** Another tab of the same browser changed the conversations. */
addEventListener("storage", ({ key }) => {
  if (key === listItem) conversations.value = merge(readConversations());
});
addEventListener("pagehide", persist);

/** A conversation with an answer in progress is newer in this tab than in the storage. */
function merge(read: readonly Conversation[]): Conversation[] {
  const writing = conversations.value.filter(({ turns }) => turns.some(isWriting));
  const ids = new Set(writing.map(({ id }) => id));
  return [...writing, ...read.filter(({ id }) => !ids.has(id))];
}

function readConversations(): Conversation[] {
  const read = storedList();
  return Array.isArray(read) ? read.filter(isConversation).map(settle) : [];
}

function storedList(): unknown {
  try {
    return JSON.parse(readItem("local", listItem) ?? "[]");
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isConversation(value: unknown): value is Conversation {
  if (!isObject(value) || !("id" in value && "title" in value)) return false;
  if (!("settings" in value && "turns" in value && isObject(value.settings))) return false;
  return Array.isArray(value.turns) && value.turns.every(isObject);
}

export function isWriting(turn: Turn): turn is AnswerTurn {
  return turn.role === "assistant" && turn.state === "writing";
}

/** An answer in progress when the page was closed is stopped. Earlier versions stored a boolean. */
function settle(conversation: Conversation): Conversation {
  const stored: unknown = conversation.settings.grounded;
  const grounded = isGrounded(stored) ? stored : stored === true ? "on" : "off";
  const turns = conversation.turns.map((turn) =>
    isWriting(turn) ? { ...turn, state: "stopped" as const } : turn,
  );
  return { ...conversation, settings: { ...conversation.settings, grounded }, turns };
}

export const settingsOpen = signal(false);
/** For narrow screens; on wide ones the list is always visible. */
export const listOpen = signal(false);

export const draft = signal("");

/** Deferred until the next render: a dialog that is closing still has the focus. */
export function focusComposer(): void {
  setTimeout(() => document.getElementById("question")?.focus());
}

/** Adapts settings to the node's models, collections and documents. */
export function keepToTheNode(): void {
  // A conversation keeps its model once it has begun, unless the node no longer has that.
  effect(() => {
    const model = current.value?.settings.model;
    const stays =
      emptyId.value === undefined && chatModels.value.some(({ name }) => name === model);
    const wanted = modelAtFirst.value;
    if (stays || wanted === undefined || wanted === model) return;
    untracked(() => changeSettings({ model: wanted }));
  });
  // Removes deleted collections from the settings; the node would reject the request with them.
  effect(() => {
    const chosen = current.value?.settings.collections ?? [];
    if (!areAllKnown.value || chosen.length === 0) return;
    const there = chosen.filter((id) => collections.value.some((store) => store.id === id));
    if (there.length === chosen.length) return;
    untracked(() => changeSettings({ collections: there.length === 0 ? undefined : there }));
  });
  effect(() => {
    if (!holdsPassages.value || emptyId.value === undefined) return;
    untracked(() => {
      const isOpen = groundedChoice() === undefined && lastSettings().grounded === "off";
      if (isOpen) changeSettings({ grounded: "auto" });
    });
  });
}

/** Id of the current conversation while it is empty; other changes to it do not trigger effects. */
const emptyId = computed(() => {
  const { id, turns = [] } = current.value ?? {};
  return turns.length === 0 ? (id ?? "none yet") : undefined;
});

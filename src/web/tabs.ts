/** The parts of the page, and which one is shown. */
import { effect, signal } from "@preact/signals";

export const tabs = [
  { id: "chat", name: "Chat" },
  { id: "documents", name: "Documents" },
  { id: "knowledge", name: "Knowledge" },
  { id: "node", name: "Node" },
] as const;

export type TabId = (typeof tabs)[number]["id"];

const named = (): TabId => tabs.find(({ id }) => `#${id}` === location.hash)?.id ?? "chat";

export const tab = signal<TabId>(named());

// The address says which part is shown, so that it can be shared and gone back to.
addEventListener("hashchange", () => {
  tab.value = named();
});

effect(() => {
  const name = tabs.find(({ id }) => id === tab.value)?.name;
  document.title = `${name} – Paddock`;
});

export function openTab(id: TabId): void {
  if (tab.value !== id) location.hash = id;
  tab.value = id;
}

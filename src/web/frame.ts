/** The current tab and theme of the page. */
import { effect, signal } from "@preact/signals";
import { readItem, writeItem } from "./browser.ts";

export const tabs = [
  { id: "chat", name: "Chat" },
  { id: "documents", name: "Documents" },
  { id: "knowledge", name: "Knowledge" },
  { id: "models", name: "Models" },
  { id: "node", name: "Node" },
] as const;

type TabId = (typeof tabs)[number]["id"];

const named = (): TabId => tabs.find(({ id }) => `#${id}` === location.hash)?.id ?? "chat";

export const tab = signal<TabId>(named());

// The tab is in the address, so that it can be linked and is part of the history.
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

/** Follows the system until the user chooses. */
type Theme = "light" | "dark";

const item = "paddock.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = (): Theme => (system.matches ? "dark" : "light");

const stored = readItem("local", item);
const chosen = stored === "light" || stored === "dark" ? stored : undefined;
let isChosen = chosen !== undefined;

export const theme = signal<Theme>(chosen ?? systemTheme());

system.addEventListener("change", () => {
  if (!isChosen) theme.value = systemTheme();
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function toggleTheme(): void {
  isChosen = true;
  theme.value = theme.value === "dark" ? "light" : "dark";
  writeItem("local", item, theme.value);
}

/** Light or dark: as the system says, until the reader chooses. */
import { effect, signal } from "@preact/signals";
import { readItem, writeItem } from "./storage.ts";

export type Theme = "light" | "dark";

const item = "paddock.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = (): Theme => (system.matches ? "dark" : "light");

const kept = readItem("local", item);
let isChosen = kept === "light" || kept === "dark";

export const theme = signal<Theme>(kept === "light" || kept === "dark" ? kept : systemTheme());

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

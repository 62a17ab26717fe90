/** An empty conversation leaves it to the node whether it answers from documents, once there are some and unless the reader chose otherwise. */
import { computed, effect, untracked } from "@preact/signals";
import { holdsPassages } from "../documents/collections.ts";
import { changeSettings, current, groundedChoice, lastSettings } from "./store.ts";

/** The conversation on the page while it is empty; other changes of it, such as a question's own settings, are none of this. */
const emptyId = computed(() => {
  const { id, turns = [] } = current.value ?? {};
  return turns.length === 0 ? (id ?? "none yet") : undefined;
});

export function groundNewConversations(): void {
  effect(() => {
    if (!holdsPassages.value || emptyId.value === undefined) return;
    untracked(() => {
      const isOpen = groundedChoice() === undefined && lastSettings().grounded === "off";
      if (isOpen) changeSettings({ grounded: "auto" });
    });
  });
}

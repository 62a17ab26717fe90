/** An empty conversation answers from documents once the reader has some, unless the reader chose otherwise. */
import { computed, effect, untracked } from "@preact/signals";
import { holdsOwnDocuments } from "../documents/own-documents.ts";
import { changeSettings, current, groundedChoice } from "./store.ts";

/** The conversation on the page while it is empty; other changes of it, such as a question's own settings, are none of this. */
const emptyId = computed(() => {
  const { id, turns = [] } = current.value ?? {};
  return turns.length === 0 ? (id ?? "none yet") : undefined;
});

export function groundNewConversations(): void {
  effect(() => {
    if (!holdsOwnDocuments.value || emptyId.value === undefined) return;
    untracked(() => {
      if (groundedChoice() === undefined) changeSettings({ grounded: true });
    });
  });
}

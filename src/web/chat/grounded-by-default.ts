/** An empty conversation answers from documents once the reader has some, unless the reader chose otherwise. */
import { effect, untracked } from "@preact/signals";
import { holdsOwnDocuments } from "../documents/own-documents.ts";
import { changeSettings, current, groundedChoice } from "./store.ts";

export function groundNewConversations(): void {
  effect(() => {
    const isEmpty = (current.value?.turns.length ?? 0) === 0;
    if (!holdsOwnDocuments.value || !isEmpty || groundedChoice() !== undefined) return;
    untracked(() => {
      if (current.value?.settings.grounded !== true) changeSettings({ grounded: true });
    });
  });
}

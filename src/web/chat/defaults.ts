/** Keeps the settings of conversations to what the node has: its models, its collections, its documents. */
import { computed, effect, untracked } from "@preact/signals";
import {
  access,
  collections,
  hasMoreCollections,
  holdsPassages,
} from "../documents/collections.ts";
import { chatModels } from "../node/state.ts";
import { changeSettings, current, groundedChoice, lastSettings } from "./store.ts";

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
    const isAllKnown = access.value.state === "open" && !hasMoreCollections.value;
    if (!isAllKnown || chosen.length === 0) return;
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

/** A conversation goes on without the collections that were deleted; the node would refuse it with them. */
import { effect, untracked } from "@preact/signals";
import { access, collections, hasMoreCollections } from "../documents/collections.ts";
import { changeSettings, current } from "./store.ts";

export function keepToKnownCollections(): void {
  effect(() => {
    const chosen = current.value?.settings.collections ?? [];
    const isAllKnown = access.value.state === "open" && !hasMoreCollections.value;
    if (!isAllKnown || chosen.length === 0) return;
    const there = chosen.filter((id) => collections.value.some((store) => store.id === id));
    if (there.length === chosen.length) return;
    untracked(() => changeSettings({ collections: there.length === 0 ? undefined : there }));
  });
}

/** The names of the collections that passages come from. */
import type { Point } from "../../client/wire.ts";
import { access, collections, hasMoreCollections, nameOf } from "./collections.ts";

/** Each once, in the order of the passages; a browser may have stored passages that do not say. */
export function collectionsOf(points: readonly Point[]): string[] {
  const ids = points.map(({ metadata }) => metadata?.vector_store_id ?? undefined);
  return [...new Set(ids.filter((id) => id !== undefined))].map(collectionName);
}

function collectionName(id: string): string {
  const store = collections.value.find((one) => one.id === id);
  if (store !== undefined) return nameOf(store);
  const isAllKnown = access.value.state === "open" && !hasMoreCollections.value;
  return isAllKnown ? `${id} (not there any more)` : id;
}

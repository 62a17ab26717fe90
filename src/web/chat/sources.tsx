/** What an answer is grounded in, beside it. */

import type { Retrieval } from "../../client/wire.ts";
import { PassageItem } from "../components/passage-item.tsx";
import { collectionsOf } from "../documents/collections-of.ts";

export function Sources({ retrieval }: { retrieval: Retrieval }) {
  const { points, dropped, carried = 0, error, notice } = retrieval;
  const from = collectionsOf(points);
  return (
    <aside class="sources" aria-label="Sources of this answer">
      <h3>Sources</h3>
      {from.length > 0 && (
        <p class="note">
          From the {from.length === 1 ? "collection" : "collections"}{" "}
          {from.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <bdi>{name}</bdi>
            </span>
          ))}
        </p>
      )}
      {error !== undefined && (
        <p class="note">The documents could not be searched, so this is not from them: {error}</p>
      )}
      {error === undefined && points.length === 0 && (
        <p class="note">No passage matched the question, so this is not from your documents.</p>
      )}
      {notice !== undefined && <p class="note">{notice}</p>}
      {points.length > 0 && (
        <ol>
          {points.map((point, at) => (
            <PassageItem key={point.metadata?.id ?? at} point={point} marker={at + 1} folded />
          ))}
        </ol>
      )}
      {carried > 0 && (
        <p class="note">
          {carried === 1 ? "The first is" : `The first ${carried} are`} from earlier questions.
        </p>
      )}
      {dropped > 0 && (
        <p class="note">
          {dropped} more {dropped === 1 ? "passage was" : "passages were"} left out: another one
          holds the same, or the model's context is full.
        </p>
      )}
    </aside>
  );
}

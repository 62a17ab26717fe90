/** A passage with its source and its score. */
import type { Point } from "../../client/wire.ts";
import { read, readingOf } from "../documents/reading.ts";
import { Button } from "./controls.tsx";

/** Without the heading at the start of a passage, which is shown above it. */
function withoutHeading({ source, metadata }: Point): string {
  const heading = metadata?.heading ?? "";
  return heading !== "" && source.startsWith(heading)
    ? source.slice(heading.length).trim()
    : source;
}

interface PassageItemProps {
  point: Point;
  /** Its marker in answers. */
  marker: number;
  /** Whether its text can be collapsed; `open`: it is shown at first. */
  folded?: boolean;
  open?: boolean;
}

export function PassageItem({ point, marker, folded = false, open = false }: PassageItemProps) {
  const { document, heading } = point.metadata ?? {};
  const place = readingOf(point);
  return (
    <li class="passage">
      <div class="passage-head">
        <span class="marker">
          <span class="visually-hidden">Passage </span>
          {marker}
        </span>
        <span class="place">
          <strong>{document ?? "A document without a name"}</strong>
          {heading && <span>{heading}</span>}
        </span>
      </div>
      <ScoreBar score={point.score} />
      {folded ? (
        <details open={open}>
          <summary>
            Show the passage<span class="visually-hidden"> {marker}</span>
          </summary>
          <p class="as-written">{withoutHeading(point)}</p>
        </details>
      ) : (
        <p class="as-written">{withoutHeading(point)}</p>
      )}
      {place !== undefined && (
        <Button class="quiet open" onClick={() => read(place)}>
          Open
          <span class={folded ? "visually-hidden" : undefined}> in the document</span>
          <span class="visually-hidden">, passage {marker}</span>
        </Button>
      )}
    </li>
  );
}

function ScoreBar({ score }: { score: number }) {
  const percent = Math.max(0, Math.min(1, score)) * 100;
  return (
    <div class="score">
      <div class="bar" aria-hidden="true">
        <div style={{ width: `${percent.toFixed(1)}%` }} />
      </div>
      <span>
        <span class="visually-hidden">Score </span>
        {score.toFixed(2)}
      </span>
    </div>
  );
}

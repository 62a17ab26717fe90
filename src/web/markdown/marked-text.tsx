/** Text of an answer, whose markers open the passages that they name. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { piecesOf } from "./markers.ts";

export interface MarkerTarget {
  /** How many passages there are. */
  count: number;
  open: (marker: number) => void;
}

/** Undefined where there is nothing to open: then markers are text. */
export const MarkerContext = createContext<MarkerTarget | undefined>(undefined);

export function MarkedText({ text }: { text: string }) {
  const target = useContext(MarkerContext);
  if (target === undefined) return <>{text}</>;
  return (
    <>
      {piecesOf(text, target.count).map((piece) =>
        typeof piece === "string" ? (
          piece
        ) : (
          <button
            type="button"
            class="marker-link"
            aria-label={`Open passage ${piece.marker}`}
            onClick={() => target.open(piece.marker)}
          >
            {piece.marker}
          </button>
        ),
      )}
    </>
  );
}

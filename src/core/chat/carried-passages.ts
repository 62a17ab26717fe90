/** The passages of earlier turns, carried into the prompts of later ones. */
import type { DocumentCaller } from "../documents/document-caller.ts";
import { reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { RetrievalService } from "../retrieval/retrieval-service.ts";
import type { FoundPassage, PassagePlace } from "../retrieval/search.ts";
import type { Turn } from "./fit-to-context.ts";
import { GroundedTurns } from "./grounded-turns.ts";

/** The key of each user message, by its index; see `turnKeys`. */
type TurnKeys = ReadonlyMap<number, string>;

export class CarriedPassages {
  readonly #retrieval: RetrievalService;
  readonly #log: Log;
  readonly #turns = new GroundedTurns();

  constructor(retrieval: RetrievalService, log: Log) {
    this.#retrieval = retrieval;
    this.#log = log;
  }

  /** Those of the turns that were given passages, with the passages that the collection still has. */
  async recall(keys: TurnKeys, caller: DocumentCaller): Promise<Turn[]> {
    const remembered = [...keys].map(([index, key]) => ({
      index,
      points: this.#turns.recall(key),
    }));
    const places = remembered.flatMap(({ points }) => points);
    const stored = await this.#read(places, caller);
    const turns = remembered.map(({ index, points }) => ({
      index,
      points: points.flatMap((place): FoundPassage[] => {
        const passage = stored.get(keyOf(place));
        return passage === undefined ? [] : [{ ...passage, score: place.score }];
      }),
    }));
    return turns.filter(({ points }) => points.length > 0);
  }

  /** Remembers what is in the prompt now, which the next turn's prompt begins with; forgets the rest. */
  keep(keys: TurnKeys, turns: readonly Turn[], kept: readonly Turn[]): void {
    for (const { index } of turns) this.#turns.forget(keys.get(index) ?? "");
    for (const { index, points } of kept) this.#turns.remember(keys.get(index) ?? "", points);
  }

  async #read(
    places: readonly PassagePlace[],
    caller: DocumentCaller,
  ): Promise<ReadonlyMap<string, FoundPassage>> {
    if (places.length === 0) return new Map();
    try {
      const passages = await this.#retrieval.read(places, caller);
      return new Map(passages.map((passage) => [keyOf(passage), passage]));
    } catch (error) {
      // They stay remembered: a store that is away for a turn has not lost them.
      this.#log.warn("the passages of earlier turns cannot be read; the chat goes on without", {
        reason: reasonOf(error),
      });
      return new Map();
    }
  }
}

const keyOf = ({ store, id }: Pick<PassagePlace, "store" | "id">): string => `${store}/${id}`;

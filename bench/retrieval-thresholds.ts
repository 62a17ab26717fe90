/**
 * What a threshold of the score lets through and drops. The collection is one half of the set's
 * articles: the questions about it have an answer there, those about the other half are of another
 * topic. Then the halves change places, so that every question is asked both ways.
 */
import { theNode } from "../src/core/documents/document-caller.ts";
import type { EmbeddingModel } from "../src/core/models/model.ts";
import type { CollectionStore } from "../src/core/ports/passage-repository.ts";
import type { RetrievalMode } from "../src/core/retrieval/retrieval-service.ts";
import { fill, type RetrievalSet, remembering, serviceFor } from "./retrieval-set.ts";

/** As many as a node returns by default. */
const limit = 5;
const thresholds = [
  0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.81, 0.82, 0.83, 0.84, 0.85,
];
const modes: readonly RetrievalMode[] = ["dense", "hybrid"];
const { signal } = new AbortController();

/** The scores of one question's passages. */
interface Asked {
  /** Of the right passage; absent where it is not among those found, or there is none. */
  right?: number;
  wrong: number[];
}

export async function measureThresholds(
  store: CollectionStore,
  model: EmbeddingModel,
  { paragraphs, questions }: RetrievalSet,
): Promise<void> {
  const embedding = remembering(model);
  const answered = new Map(modes.map((mode) => [mode, [] as Asked[]]));
  const astray = new Map(modes.map((mode) => [mode, [] as Asked[]]));
  for (const half of [0, 1]) {
    const stored = paragraphs
      .map((paragraph, number) => ({ ...paragraph, number }))
      .filter(({ article }) => article % 2 === half);
    await using repository = await fill(store, embedding, stored);
    for (const mode of modes) {
      const service = serviceFor(embedding, repository, mode);
      for (const { text, paragraph, article } of questions) {
        const { points } = await service.find(
          text,
          { limit, scoreThreshold: -1 },
          { signal },
          { caller: theNode },
        );
        const right = points.find(({ document }) => document === String(paragraph))?.score;
        const wrong = points.filter(({ document }) => document !== String(paragraph));
        (article % 2 === half ? answered : astray).get(mode)?.push({
          ...(right === undefined ? {} : { right }),
          wrong: wrong.map(({ score }) => score),
        });
      }
    }
  }
  console.log(
    "\n| Threshold | Mode | Right passage kept | Wrong ones beside it | Another topic: questions that get any | passages each |",
  );
  console.log("|---|---|---|---|---|---|");
  for (const threshold of thresholds) {
    for (const mode of modes) {
      const row = rowOf(answered.get(mode) ?? [], astray.get(mode) ?? [], threshold);
      console.log(`| ${threshold} | ${mode} | ${row.join(" | ")} |`);
    }
  }
}

function rowOf(answered: readonly Asked[], astray: readonly Asked[], threshold: number): string[] {
  const passing = ({ wrong }: Asked): number => wrong.filter((score) => score >= threshold).length;
  const mean = (all: readonly Asked[], value: (asked: Asked) => number): string =>
    (all.reduce((sum, asked) => sum + value(asked), 0) / all.length).toFixed(3);
  return [
    mean(answered, ({ right = -1 }) => (right >= threshold ? 1 : 0)),
    mean(answered, passing),
    mean(astray, (asked) => (passing(asked) > 0 ? 1 : 0)),
    mean(astray, passing),
  ];
}

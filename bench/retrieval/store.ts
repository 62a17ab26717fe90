/**
 * A store at size: `bun bench:store [--count 100000] [--texts FILE] [--qdrant]`. The embedded one, or
 * a Qdrant server. Vectors and words are made up; or, with a file in SQuAD's format, both are of its
 * text. Prints each figure beside its goal for a million passages on two cores.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import type {
  DocumentSelection,
  EmbeddedPassage,
  PassageRepository,
} from "../../src/core/ports/passage-repository.ts";
import { watchLoop } from "../../tests/support/loop-watch.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import {
  dimension,
  documentSize,
  ExactVectors,
  ExactWords,
  embedded,
  type Made,
  madeUp,
  toPassage,
} from "./made-passages.ts";
import { collection, embeddedPlace, qdrantPlace, type StorePlace } from "./store-place.ts";

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    texts: { type: "string" },
    /** In which made up vectors vary: the more, the harder neighbours are to find. */
    directions: { type: "string", default: "24" },
    qdrant: { type: "boolean", default: false },
    /** Set for the process that opens and searches, so that its memory is that alone. */
    search: { type: "string" },
  },
});
const count = Number(options.count);
const questionCount = 200;
/** Questions whose words are compared with exact BM25. */
const comparedCount = 100;
const limit = 10;
const bounds = { limit, scoreThreshold: -1 };
/** Words of a question, taken from a passage. */
const questionWords = 8;

const say = (what: string, figure: string, goal = ""): void =>
  console.log(`| ${what} | ${figure} | ${goal} |`);
const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

/** Returns the questions to ask. */
async function fill(place: StorePlace): Promise<Made[]> {
  const embedding = { model: "bench", fingerprint: "", queryPrefix: "", documentPrefix: "" };
  const questions: Made[] = [];
  console.log(`| ${count} passages | Measured | Goal |\n|---|---|---|`);
  {
    await using repository = await place.store.create(collection, { dimension, embedding });
    let storing = 0;
    let stored = 0;
    let batch: EmbeddedPassage[] = [];
    for await (const made of options.texts === undefined
      ? madeUp(Number(options.directions))
      : embedded(options.texts)) {
      if (questions.length < questionCount) {
        const source = made.source.split(" ").slice(0, questionWords).join(" ");
        questions.push({ ...made, source });
        continue;
      }
      batch.push(toPassage(stored + batch.length, made));
      if (batch.length < 500 && stored + batch.length < count) continue;
      const from = performance.now();
      await repository.upsert(batch);
      storing += performance.now() - from;
      stored += batch.length;
      batch = [];
      if (stored >= count) break;
    }
    say("stored, passages a second", (stored / (storing / 1000)).toFixed(0), "6,500");
    const lacking = await place.lacking();
    const from = performance.now();
    const beside = await timesOf(repository, questions.slice(0, 20));
    say("a question beside a growing index, longest", ms(beside.at(-1) ?? 0), "≤ 200 ms");
    while ((await place.lacking()) > 0) await Bun.sleep(200);
    const rate = lacking / ((performance.now() - from) / 1000);
    if (lacking > 0) say("index, vectors a second", rate.toFixed(0), "≥ 3,000");
  }
  for (const [kind, size] of await place.sizes()) say(`disk, ${kind}`, mb(size));
  return questions;
}

async function embeddedStore(): Promise<void> {
  await using folder = await tempDir();
  const questions = await fill(embeddedPlace(folder.path));
  await Bun.write(join(folder.path, "questions"), JSON.stringify(questions.map(toJson)));
  // What was just written is on its way to the disk, which would be measured too.
  Bun.spawnSync(["sync"]);
  const script = [process.execPath, import.meta.path, "--search", folder.path];
  const child = Bun.spawn([...script, "--count", String(count)], {
    stdout: "inherit",
    stderr: "inherit",
  });
  await child.exited;
}

async function qdrantStore(): Promise<void> {
  await using place = await qdrantPlace();
  const questions = await fill(place);
  await place.restart();
  await search(place, questions, 0);
}

const toJson = ({ source, vector }: Made) => ({ source, vector: [...vector] });

/** As a hybrid search asks: by vector and by words at once. */
async function ask(
  repository: PassageRepository,
  { source, vector }: Made,
  documents?: DocumentSelection,
) {
  const [near, matched] = await Promise.all([
    repository.search(vector, bounds, documents),
    repository.matchWords(source, vector, limit, documents),
  ]);
  return { near, matched };
}

/** Ascending. */
async function timesOf(
  repository: PassageRepository,
  questions: readonly Made[],
  documents?: DocumentSelection,
): Promise<number[]> {
  const times: number[] = [];
  for (const question of questions) {
    const from = performance.now();
    await ask(repository, question, documents);
    times.push(performance.now() - from);
  }
  return times.sort((one, other) => one - other);
}

const spread = (times: readonly number[]): string =>
  [0.5, 0.95].map((share) => ms(times[Math.floor(times.length * share)] ?? 0)).join(" / ");

async function questionsIn(folder: string): Promise<Made[]> {
  const written: { source: string; vector: number[] }[] = await Bun.file(
    join(folder, "questions"),
  ).json();
  return written.map(({ source, vector }) => ({ source, vector: Float32Array.from(vector) }));
}

/** `before`: memory that is not the collection's. */
async function search(
  place: StorePlace,
  questions: readonly Made[],
  before = place.memory(),
): Promise<void> {
  const [first] = questions;
  if (first === undefined) throw new Error("There are no questions");
  const from = performance.now();
  await using repository = await place.store.open(collection);
  if (repository === undefined) throw new Error("There is nothing to search");
  await ask(repository, first);
  say("opening, to the first answer", ms(performance.now() - from), "≤ 2,000 ms");
  // Until its graphs are checked, vectors are compared one by one.
  for (
    let took = [Number.POSITIVE_INFINITY], tries = 0;
    (took[0] ?? 0) > 5 && tries < 20;
    tries++
  ) {
    await Bun.sleep(500);
    took = await timesOf(repository, questions.slice(0, 5));
  }
  say("a question, p50 / p95", spread(await timesOf(repository, questions)), "≤ 10 / 30 ms");
  {
    using loop = watchLoop();
    await loop.idle();
    loop.longest();
    await Promise.all(
      Array.from({ length: 8 }, (_, caller) =>
        timesOf(repository, questions.slice(caller * 25, caller * 25 + 25)),
      ),
    );
    say("longest block of the loop, 8 callers", ms(loop.longest()), "≤ 5 ms");
  }
  await filters(repository, questions.slice(0, 50));
  say("memory", mb(place.memory() - before), "≤ 1,000 MB");
  await compare(repository, questions);
  await removal(repository, place, questions);
}

async function filters(repository: PassageRepository, questions: readonly Made[]): Promise<void> {
  const documents = Math.floor(count / documentSize);
  const share = (part: number): ReadonlySet<string> =>
    new Set(
      Array.from(
        { length: Math.ceil(documents * part) },
        (_, at) => `document ${Math.floor(at / part)}`,
      ),
    );
  const choices: [string, DocumentSelection][] = [
    ["1 % of the documents", { only: share(0.01) }],
    ["20 % of the documents", { only: share(0.2) }],
    ["all but 10 % of the documents", { except: share(0.1) }],
  ];
  for (const [what, chosen] of choices) {
    const times = await timesOf(repository, questions, chosen);
    const found = await Promise.all(questions.map((each) => ask(repository, each, chosen)));
    const fewest = Math.min(...found.map(({ near }) => near.length));
    say(`filter: ${what}, p50 / p95`, `${spread(times)}, ${fewest} results`, "≤ 50 ms, 10");
  }
}

/** Against an exact scan, and BM25 by its definition. */
async function compare(repository: PassageRepository, questions: readonly Made[]): Promise<void> {
  const worded = questions.slice(0, comparedCount);
  const vectors = new ExactVectors(questions);
  const words = new ExactWords(worded.map(({ source }) => source));
  for await (const { id, source, vector } of repository.passages()) {
    vectors.add(vector);
    words.add(id, source);
  }
  const least = vectors.least();
  let hits = 0;
  for (const [at, { vector }] of questions.entries()) {
    const found = await repository.search(vector, bounds);
    hits += found.filter(({ score }) => score >= (least[at] ?? 0) - 1e-5).length;
  }
  say("recall@10", (hits / (questions.length * limit)).toFixed(4), "≥ 0.98");
  if (options.texts !== undefined) return;
  const best = words.best();
  let equal = 0;
  for (const [at, { source, vector }] of worded.entries()) {
    const found = await repository.matchWords(source, vector, limit);
    if (found.map(({ id }) => id).join() === best[at]?.join()) equal++;
  }
  say("first 10 as by exact BM25", `${equal} of ${worded.length}`, "≥ 95 of 100");
}

async function removal(
  repository: PassageRepository,
  place: StorePlace,
  questions: readonly Made[],
): Promise<void> {
  const documents = Math.min(1000, Math.floor(count / documentSize / 2));
  let isOver = false;
  const removing = (async () => {
    const from = performance.now();
    for (let at = 0; at < documents; at++) await repository.delete(`document ${at}`);
    isOver = true;
    return performance.now() - from;
  })();
  const times: number[] = [];
  for (let at = 0; !isOver; at++) {
    const from = performance.now();
    await ask(
      repository,
      questions[at % questions.length] ??
        toPassage(0, { source: "", vector: new Float32Array(dimension) }),
    );
    times.push(performance.now() - from);
  }
  const took = await removing;
  times.sort((one, other) => one - other);
  const rate = (documents * documentSize) / (took / 1000);
  say(`removal of ${documents * documentSize}, passages a second`, rate.toFixed(0));
  const longest = times.at(-1) ?? 0;
  say("a question beside it, p50 / p95, longest", `${spread(times)}, ${ms(longest)}`, "≤ 50 ms");
  for (let tries = 0; tries < 120 && (place.free() ?? 0) > 4096 * 4096; tries++) {
    await Bun.sleep(500);
  }
  const free = place.free();
  if (free !== undefined) say("free space left in the file afterwards", mb(free));
}

if (options.search !== undefined) {
  await search(embeddedPlace(options.search), await questionsIn(options.search));
} else if (options.qdrant) await qdrantStore();
else await embeddedStore();

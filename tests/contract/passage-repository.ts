/** What every store of collections must do; each implementation runs it. */
import { describe, expect, test } from "bun:test";
import type {
  CollectionSpec,
  CollectionStore,
  DocumentSelection,
  EmbeddedPassage,
  PassageRepository,
} from "../../src/core/ports/passage-repository.ts";
import { collect } from "../support/collect.ts";
import { passage } from "../support/passages.ts";
import { rejectionOf } from "../support/rejection.ts";

export interface StoreUnderTest extends AsyncDisposable {
  store: CollectionStore;
  /** Closes and starts the store itself, where it is a server of its own. */
  restart(): Promise<void>;
}

export const contractSpec: CollectionSpec = {
  dimension: 3,
  embedding: {
    model: "model",
    fingerprint: "abc",
    queryPrefix: "query: ",
    documentPrefix: "passage: ",
  },
};

const everything = { limit: 100, scoreThreshold: -1 };

const east = passage(1, [1, 0, 0]);
const northEast = passage(2, [1, 1, 0]);
const north = passage(3, [0, 1, 0], { document: "b.md", position: 0 });
const west = passage(4, [-1, 0, 0], { document: "b.md", position: 1 });

/** `start` gives a store without the collection that the tests use. */
export function passageRepositoryContract(
  name: string,
  start: () => Promise<StoreUnderTest>,
  options: { skip?: boolean } = {},
): void {
  const run = options.skip === true ? describe.skip : describe;
  const withRepository = async (
    body: (repository: PassageRepository, place: StoreUnderTest) => Promise<void>,
  ): Promise<void> => {
    await using place = await start();
    await using repository = await place.store.create("contract", contractSpec);
    await body(repository, place);
  };

  run(`${name} as a store of collections`, () => {
    test("has no collection that was not made, and drops one that is not there", async () => {
      await using place = await start();
      expect(await place.store.open("contract")).toBeUndefined();
      expect(await place.store.list()).not.toContain("contract");
      await place.store.drop("contract");
    });

    test("lists, opens and drops what it made", () =>
      withRepository(async (repository, { store }) => {
        await repository.upsert([east]);
        expect(await store.list()).toContain("contract");
        {
          await using again = await store.open("contract");
          expect(await again?.count()).toBe(1);
        }
        await store.drop("contract");
        expect(await store.list()).not.toContain("contract");
        expect(await store.open("contract")).toBeUndefined();
      }));

    test("keeps what a collection holds when it is made again", () =>
      withRepository(async (repository, { store }) => {
        await repository.upsert([east]);
        await using again = await store.create("contract", contractSpec);
        expect(await again.count()).toBe(1);
      }));

    test("describes a collection with the model that fills it, without a credential", () =>
      withRepository(async (repository) => {
        expect(await repository.describe()).toEqual({
          name: "contract",
          dimension: 3,
          distance: "cosine",
          url: expect.not.stringContaining("@"),
          embedding: contractSpec.embedding,
        });
      }));

    test("has what it held after it was closed, and after its store was restarted", async () => {
      await using place = await start();
      {
        await using repository = await place.store.create("contract", contractSpec);
        await repository.upsert([east, north]);
      }
      await place.restart();
      await using repository = await place.store.open("contract");
      expect(await repository?.count()).toBe(2);
      const [nearest] = (await repository?.search(north.vector, everything)) ?? [];
      expect(nearest).toMatchObject({ id: north.id, source: north.source, document: "b.md" });
      expect((await repository?.describe())?.embedding).toEqual(contractSpec.embedding);
    });
  });

  run(`${name} as a passage repository`, () => {
    test("answers nothing from an empty collection", () =>
      withRepository(async (repository) => {
        expect(await repository.search(east.vector, everything)).toEqual([]);
        expect(await repository.matchWords("anything", east.vector, 5)).toEqual([]);
        expect(await repository.count()).toBe(0);
        expect(await repository.documents()).toEqual([]);
        expect(await collect(repository.passages())).toEqual([]);
      }));

    test("finds passages in descending cosine similarity, whole", () =>
      withRepository(async (repository) => {
        await repository.upsert([west, north, east, northEast]);
        const found = await repository.search(east.vector, everything);
        expect(found.map(({ id }) => id)).toEqual([east.id, northEast.id, north.id, west.id]);
        for (const [index, score] of [1, Math.SQRT1_2, 0, -1].entries()) {
          expect(found[index]?.score).toBeCloseTo(score, 5);
        }
        const { vector: _, ...stored } = east;
        expect(found[0]).toEqual({ ...stored, score: expect.any(Number) });
      }));

    test("never answers more than the limit, nor under the threshold", () =>
      withRepository(async (repository) => {
        await repository.upsert([east, northEast, north, west]);
        const bounded = async (limit: number, scoreThreshold: number): Promise<string[]> =>
          (await repository.search(east.vector, { limit, scoreThreshold })).map(({ id }) => id);
        expect(await bounded(2, -1)).toEqual([east.id, northEast.id]);
        expect(await bounded(9, 0.5)).toEqual([east.id, northEast.id]);
        expect(await bounded(1, 0.5)).toEqual([east.id]);
      }));

    test("replaces a passage whose id it has", () =>
      withRepository(async (repository) => {
        await repository.upsert([east, north]);
        await repository.upsert([{ ...north, id: east.id, source: "New" }]);
        expect(await repository.count()).toBe(2);
        const found = await repository.search(north.vector, { limit: 9, scoreThreshold: 0.9 });
        expect(found.map(({ source }) => source).sort()).toEqual(["New", north.source]);
      }));

    test("deletes exactly a document's passages, and says how many", () =>
      withRepository(async (repository) => {
        await repository.upsert([east, northEast, north, west]);
        expect(await repository.delete("b.md")).toBe(2);
        expect(await repository.delete("b.md")).toBe(0);
        const found = await repository.search(east.vector, everything);
        expect(found.map(({ document }) => document)).toEqual(["a.md", "a.md"]);
      }));

    test("keeps the passages of a document that it is told to keep", () =>
      withRepository(async (repository) => {
        await repository.upsert([east, northEast, north]);
        expect(await repository.delete("a.md", new Set([northEast.id]))).toBe(1);
        const found = await repository.search(east.vector, everything);
        expect(found.map(({ id }) => id)).toEqual([northEast.id, north.id]);
      }));

    test("stores all of an upsert or none", () =>
      withRepository(async (repository) => {
        const crooked = { ...north, vector: Float32Array.of(1, 0) };
        expect(await rejectionOf(repository.upsert([east, crooked]))).toMatchObject({
          kind: "invalid_request",
        });
        expect(await repository.count()).toBe(0);
        await repository.upsert([]);
      }));

    test.each([
      ["NaN", Float32Array.of(Number.NaN, 0, 1), "this one has NaN in place 0"],
      ["an infinity", Float32Array.of(0, Infinity, 0), "this one has Infinity in place 1"],
      ["a negative infinity", Float32Array.of(0, 0, -Infinity), "has -Infinity in place 2"],
      ["another dimension", Float32Array.of(1, 0), "of 3 numbers; this one has 2"],
    ])("refuses vectors with %s, stored or asked for", (_, vector, message) =>
      withRepository(async (repository) => {
        await repository.upsert([east]);
        const attempts = [
          () => repository.upsert([north, { ...west, vector }]),
          () => repository.search(vector, everything),
          () => repository.matchWords("a", vector, 1),
        ];
        for (const attempt of attempts) {
          const refusal = await rejectionOf(attempt());
          expect(refusal).toMatchObject({ kind: "invalid_request" });
          expect(String(refusal)).toContain("The collection 'contract' holds vectors of ");
          expect(String(refusal)).toContain(message);
        }
        expect(await repository.count()).toBe(1);
      }),
    );

    test("refuses a query of another dimension", () =>
      withRepository(async (repository) => {
        const short = Float32Array.of(1);
        expect(await rejectionOf(repository.search(short, everything))).toMatchObject({
          kind: "invalid_request",
        });
        expect(await rejectionOf(repository.matchWords("a", short, 1))).toMatchObject({
          kind: "invalid_request",
        });
      }));

    test("gives back what it holds, whole or of one document", () =>
      withRepository(async (repository) => {
        const all = [east, northEast, north, west];
        await repository.upsert(all);
        expect(byId(await collect(repository.passages()))).toEqual(byId(all));
        expect(byId(await collect(repository.passages("b.md")))).toEqual([north, west]);
        expect(await collect(repository.passages("none.md"))).toEqual([]);
      }));

    test("reads a page of a document by position, in order", () =>
      withRepository(async (repository) => {
        const all = Array.from({ length: 600 }, (_, at) =>
          passage(at + 10, [1, at, 0], { document: "long.md", position: (at * 7) % 600 }),
        );
        await repository.upsert([...all, east, north]);
        const positions = async (from: number, limit: number) =>
          (await repository.page("long.md", { from, limit })).map(({ position }) => position);
        expect(await positions(0, 3)).toEqual([0, 1, 2]);
        expect(await positions(297, 4)).toEqual([297, 298, 299, 300]);
        expect(await positions(598, 10)).toEqual([598, 599]);
        expect(await positions(600, 10)).toEqual([]);
        expect((await repository.page("long.md", { from: 7, limit: 1 }))[0]?.id).toBe(all[1]?.id);
        expect(await repository.page("missing.md", { from: 0, limit: 10 })).toEqual([]);
      }));

    test("reads the passages of some ids as they are now, and of what is gone nothing", () =>
      withRepository(async (repository, { store }) => {
        const stored = ({ vector: _, ...rest }: EmbeddedPassage) => rest;
        const read = async (...passages: EmbeddedPassage[]) =>
          (await repository.read(passages.map(({ id }) => id))).toSorted((a, b) =>
            a.id.localeCompare(b.id),
          );
        expect(await read()).toEqual([]);
        await repository.upsert([east, northEast, north]);
        expect(await read(east, north, west)).toEqual([east, north].map(stored));
        // Another process changes the collection.
        await using other = await store.open("contract");
        const changed = { ...east, heading: "Changed" };
        await other?.upsert([changed]);
        await other?.delete(north.document);
        expect(await read(east, northEast, north)).toEqual([changed, northEast].map(stored));
      }));

    test("gives back more passages than one page of an answer holds, each once", () =>
      withRepository(async (repository) => {
        const many = Array.from({ length: 2500 }, (_, at) =>
          passage(at, [Math.sin(at), Math.cos(at), 1], { position: at, parts: 2500 }),
        );
        await repository.upsert(many);
        const ids = (await collect(repository.passages())).map(({ id }) => id);
        expect(new Set(ids).size).toBe(2500);
        expect(ids).toHaveLength(2500);
        expect(await repository.documents()).toEqual([
          { name: "a.md", hash: "version-1", passages: 2500, parts: 2500 },
        ]);
        expect(await repository.delete("a.md", new Set(ids.slice(0, 2000)))).toBe(500);
        expect(await repository.count()).toBe(2000);
      }));

    test("says of each document which version it holds, and whether it is whole", () =>
      withRepository(async (repository) => {
        await repository.upsert([
          { ...east, parts: 2 },
          { ...northEast, parts: 2 },
          { ...north, parts: 3 },
          { ...west, documentHash: "version-2", parts: 4 },
        ]);
        const documents = await repository.documents();
        expect(documents.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
          { name: "a.md", hash: "version-1", passages: 2, parts: 2 },
          { name: "b.md", passages: 2, parts: 4 },
        ]);
      }));

    test("matches words, rare ones first, with the cosine beside", () =>
      withRepository(async (repository) => {
        expect(repository.matchesWords).toBe(true);
        await repository.upsert([
          { ...east, source: "The llama is an animal of the Andes." },
          { ...northEast, source: "The horse is an animal of the plains." },
          { ...north, source: "The dog is an animal of the house, says Müller." },
          { ...west, source: "Nothing of that kind." },
        ]);
        const found = await repository.matchWords("Which animals are llamas?", east.vector, 3);
        expect(found[0]).toMatchObject({ id: east.id });
        expect(found[0]?.score).toBeCloseTo(1, 5);
        expect(found[0]?.words).toBeGreaterThan(found[1]?.words ?? 1);
        for (const { words } of found) {
          expect(words).toBeGreaterThan(0);
          expect(words).toBeLessThanOrEqual(1);
        }
        expect(await repository.matchWords("muller", east.vector, 3)).toMatchObject([
          { id: north.id },
        ]);
        expect(await repository.matchWords("zebra", east.vector, 3)).toEqual([]);
        expect(await repository.matchWords('?! " * ( NOT -', east.vector, 3)).toEqual([]);
      }));

    test("searches some documents only, or all but some, and fills the answer from them", () =>
      withRepository(async (repository) => {
        // The nearer to the east, the earlier; every tenth is of a document of its own.
        const many = Array.from({ length: 3000 }, (_, at) =>
          passage(at, [3000 - at, at, 0], {
            document: at % 10 === 9 ? `${at}.md` : "crowd.md",
            source: `Llamas hum in the valley ${at}.`,
          }),
        );
        await repository.upsert(many);
        const few = new Set(["2999.md", "9.md", "1509.md"]);
        const bounds = { limit: 5, scoreThreshold: -1 };
        const positions = (found: readonly { position: number }[]) =>
          found.map(({ position }) => position);
        const nearest = (documents: DocumentSelection) =>
          repository.search(east.vector, bounds, documents).then(positions);
        expect(await nearest({ only: few })).toEqual([9, 1509, 2999]);
        expect(await nearest({ only: new Set() })).toEqual([]);
        expect(await nearest({ only: new Set(["crowd.md"]) })).toEqual([0, 1, 2, 3, 4]);
        expect(await nearest({ except: new Set() })).toEqual([0, 1, 2, 3, 4]);
        const crowd = { except: new Set(["crowd.md"]) };
        expect(await nearest(crowd)).toEqual([9, 19, 29, 39, 49]);
        const worded = async (documents: DocumentSelection) =>
          positions(await repository.matchWords("1509 2999 2019 3", east.vector, 3, documents));
        expect((await worded({ only: few })).sort()).toEqual([1509, 2999]);
        expect(await worded({ only: new Set() })).toEqual([]);
        expect((await worded(crowd)).sort()).toEqual([1509, 2019, 2999]);
      }));

    test("takes texts and names of any characters, and finds, lists and removes them by these", () =>
      withRepository(async (repository) => {
        const names = ["a'b\"c\\d.md", "ü/ 🦙\n\t%.md", "x".repeat(4000), "a\u0000b.md", " a.md "];
        const odd = names.map((document, at) =>
          passage(at, [1, at, 0], {
            document,
            source: `llama ${at} 🦙 \u0001 \u2028`,
            heading: document,
          }),
        );
        await repository.upsert(odd);
        expect((await repository.documents()).map(({ name }) => name).sort()).toEqual(
          names.toSorted(),
        );
        for (const [at, document] of names.entries()) {
          const only = { only: new Set([document]) };
          const found = await repository.search(east.vector, everything, only);
          const { vector: _, ...whole } = odd[at] ?? east;
          expect(found).toEqual([{ ...whole, score: expect.any(Number) }]);
          expect(await repository.matchWords("llama", east.vector, 5, only)).toMatchObject([
            { document },
          ]);
          expect(await repository.delete(document)).toBe(1);
        }
        // Half of a character cannot be stored; what it was in is, all the same.
        const broken = { ...east, source: "half \ud83e", document: "half \ud83e.md" };
        await repository.upsert([broken, north]);
        expect(await repository.read([east.id])).toMatchObject([{ source: "half \ufffd" }]);
        expect(await repository.delete(broken.document)).toBe(1);
        expect(await repository.count()).toBe(1);
      }));

    test("filters by as many documents as a company has", () =>
      withRepository(async (repository) => {
        await repository.upsert([east, north]);
        const many = Array.from({ length: 50_000 }, (_, at) => `folder/of/documents/${at}.md`);
        const documents = new Set([...many, north.document]);
        const idsOf = async (selection: DocumentSelection) =>
          (await repository.search(east.vector, everything, selection)).map(({ id }) => id);
        expect(await idsOf({ only: documents })).toEqual([north.id]);
        expect(await idsOf({ except: documents })).toEqual([east.id]);
      }));

    test("has another revision after each change", () =>
      withRepository(async (repository) => {
        const seen = [await repository.revision()];
        await repository.upsert([east, north]);
        seen.push(await repository.revision());
        await repository.delete(north.document);
        seen.push(await repository.revision());
        expect(new Set(seen).size).toBe(3);
      }));

    test.each([
      ["Chinese", "图书馆几点开门？", "图书馆上午九点开门。", "医院在城市的北边。"],
      [
        "Japanese",
        "図書館の開館時間は？",
        "開館時間は図書館の入口にあります。",
        "病院は町の北です。",
      ],
      ["Thai", "ห้องสมุดเปิดกี่โมง", "ห้องสมุดเปิดเก้าโมงเช้า", "โรงพยาบาลอยู่ทางเหนือ"],
    ])("matches words of %s, which is written without spaces", (_, question, right, wrong) =>
      withRepository(async (repository) => {
        await repository.upsert([
          { ...east, source: right },
          { ...north, source: wrong },
          { ...west, source: "Nothing of that kind." },
          { ...northEast, source: "Nor of this." },
        ]);
        const [first] = await repository.matchWords(question, east.vector, 4);
        expect(first).toMatchObject({ id: east.id });
        expect(first?.words).toBeGreaterThan(0.1);
      }),
    );

    test("takes no question of common words alone for answered by a passage that has them", () =>
      withRepository(async (repository) => {
        await repository.upsert(
          Array.from({ length: 200 }, (_, at) =>
            passage(at, [1, at, 2], { source: `It is in the house of the number ${at}.` }),
          ),
        );
        const [common] = await repository.matchWords("is it in the", east.vector, 5);
        expect(common?.words ?? 0).toBeLessThan(0.3);
        const [rare] = await repository.matchWords("number 77", east.vector, 5);
        expect(rare?.source).toContain("number 77.");
        expect(rare?.words).toBeGreaterThan(0.4);
      }));

    test("lets one reader see what another writer stored and removed", () =>
      withRepository(async (writer, { store }) => {
        await using reader = await store.open("contract");
        if (reader === undefined) throw new Error("it was just made");
        await writer.upsert([east]);
        expect(await reader.search(east.vector, everything)).toHaveLength(1);
        await Promise.all([writer.upsert([north]), reader.upsert([west])]);
        expect(await writer.search(east.vector, everything)).toHaveLength(3);
        await writer.delete("b.md");
        expect(await reader.search(east.vector, everything)).toHaveLength(1);
      }));

    test("stands writers and readers side by side", () =>
      withRepository(async (repository, { store }) => {
        const batch = (writer: number): EmbeddedPassage[] =>
          Array.from({ length: 50 }, (_, at) =>
            passage(writer * 50 + at, [writer + 1, at, 1], { document: `${writer}.md` }),
          );
        await Promise.all(
          [0, 1, 2, 3].map(async (writer) => {
            await using own = await store.open("contract");
            const passages = batch(writer);
            for (let start = 0; start < passages.length; start += 10) {
              await own?.upsert(passages.slice(start, start + 10));
              const found = await repository.search(east.vector, everything);
              expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
            }
          }),
        );
        expect(await repository.count()).toBe(200);
        expect(await repository.documents()).toHaveLength(4);
      }));
  });
}

const byId = <Item extends { id: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => a.id.localeCompare(b.id));

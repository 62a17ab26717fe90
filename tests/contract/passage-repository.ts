/** What every passage repository must do; each implementation runs it. */

import { describe, expect, test } from "bun:test";
import type {
  EmbeddedPassage,
  PassageRepository,
} from "../../src/core/ports/passage-repository.ts";
import { rejectionOf } from "../support/rejection.ts";

export interface RepositoryHome extends AsyncDisposable {
  /** Opens the home's one collection, of three dimensions; again after it was closed: what it held is there. */
  open(): Promise<PassageRepository>;
}

const everything = { limit: 100, scoreThreshold: -1 };

const passage = (at: number, vector: readonly number[], document = "a.md"): EmbeddedPassage => ({
  id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
  source: `Passage ${at}`,
  document,
  vector: Float32Array.from(vector, (value) => value / Math.hypot(...vector)),
});

const east = passage(1, [1, 0, 0]);
const northEast = passage(2, [1, 1, 0]);
const north = passage(3, [0, 1, 0], "b.md");
const west = passage(4, [-1, 0, 0], "b.md");

export function passageRepositoryContract(name: string, home: () => Promise<RepositoryHome>): void {
  describe(`${name} as a passage repository`, () => {
    test("answers nothing from an empty collection", async () => {
      await using place = await home();
      await using repository = await place.open();
      expect(await repository.search(east.vector, everything)).toEqual([]);
      expect(await repository.count()).toBe(0);
    });

    test("finds passages in descending cosine similarity", async () => {
      await using place = await home();
      await using repository = await place.open();
      await repository.upsert([west, north, east, northEast]);
      const found = await repository.search(east.vector, everything);
      expect(found.map(({ source }) => source)).toEqual([
        "Passage 1",
        "Passage 2",
        "Passage 3",
        "Passage 4",
      ]);
      for (const [index, score] of [1, Math.SQRT1_2, 0, -1].entries()) {
        expect(found[index]?.score).toBeCloseTo(score, 5);
      }
      const { vector: _, ...stored } = east;
      expect(found[0]).toEqual({ ...stored, score: expect.any(Number) });
    });

    test("never answers more than the limit, nor under the threshold", async () => {
      await using place = await home();
      await using repository = await place.open();
      await repository.upsert([east, northEast, north, west]);
      const bounded = async (limit: number, scoreThreshold: number): Promise<string[]> =>
        (await repository.search(east.vector, { limit, scoreThreshold })).map(({ id }) => id);
      expect(await bounded(2, -1)).toEqual([east.id, northEast.id]);
      expect(await bounded(9, 0.5)).toEqual([east.id, northEast.id]);
      expect(await bounded(1, 0.5)).toEqual([east.id]);
    });

    test("replaces a passage whose id it has", async () => {
      await using place = await home();
      await using repository = await place.open();
      await repository.upsert([east, north]);
      await repository.upsert([{ ...north, id: east.id, source: "New" }]);
      expect(await repository.count()).toBe(2);
      const found = await repository.search(north.vector, { limit: 9, scoreThreshold: 0.9 });
      expect(found.map(({ source }) => source).sort()).toEqual(["New", "Passage 3"]);
    });

    test("deletes exactly a document's passages, and says how many", async () => {
      await using place = await home();
      await using repository = await place.open();
      await repository.upsert([east, northEast, north, west]);
      expect(await repository.delete("b.md")).toBe(2);
      expect(await repository.delete("b.md")).toBe(0);
      const found = await repository.search(east.vector, everything);
      expect(found.map(({ document }) => document)).toEqual(["a.md", "a.md"]);
    });

    test("keeps the passages of a document that it is told to keep", async () => {
      await using place = await home();
      await using repository = await place.open();
      await repository.upsert([east, northEast, north]);
      expect(await repository.delete("a.md", new Set([northEast.id]))).toBe(1);
      const found = await repository.search(east.vector, everything);
      expect(found.map(({ id }) => id)).toEqual([northEast.id, north.id]);
    });

    test("stores all of an upsert or none", async () => {
      await using place = await home();
      await using repository = await place.open();
      const crooked = { ...north, vector: Float32Array.of(1, 0) };
      expect(await rejectionOf(repository.upsert([east, crooked]))).toMatchObject({
        kind: "invalid_request",
      });
      expect(await repository.count()).toBe(0);
    });

    test("refuses a query of another dimension", async () => {
      await using place = await home();
      await using repository = await place.open();
      expect(await rejectionOf(repository.search(Float32Array.of(1), everything))).toMatchObject({
        kind: "invalid_request",
      });
    });

    test("has what it held after it was closed and opened again", async () => {
      await using place = await home();
      {
        await using repository = await place.open();
        await repository.upsert([east, north]);
      }
      await using repository = await place.open();
      expect(await repository.count()).toBe(2);
      const [nearest] = await repository.search(north.vector, everything);
      expect(nearest).toMatchObject({ id: north.id, source: "Passage 3", document: "b.md" });
    });

    test("lets one reader see what another writer stored", async () => {
      await using place = await home();
      await using writer = await place.open();
      await using reader = await place.open();
      await writer.upsert([east]);
      expect(await reader.count()).toBe(1);
      await Promise.all([writer.upsert([north]), reader.upsert([west])]);
      expect(await writer.count()).toBe(3);
    });

    test("describes its collection without a credential", async () => {
      await using place = await home();
      await using repository = await place.open();
      expect(await repository.describe()).toEqual({
        name: "contract",
        dimension: 3,
        distance: "cosine",
        url: expect.not.stringContaining("@"),
      });
    });
  });
}

/** A collection that nobody is to ask; a test says what may be asked after all. */
import type { PassageRepository } from "../../src/core/ports/passage-repository.ts";

const refuse = (): never => {
  throw new Error("not asked for");
};

export const unusedRepository: PassageRepository = {
  matchesWords: false,
  describe: refuse,
  revision: refuse,
  count: refuse,
  documents: refuse,
  passages: refuse,
  page: refuse,
  read: refuse,
  upsert: refuse,
  delete: refuse,
  search: refuse,
  matchWords: refuse,
  [Symbol.asyncDispose]: async () => {},
};

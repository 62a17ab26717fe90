/** A program that uses a store's thread while it may open no more files, and again after that. */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { reasonOf } from "../../src/core/errors.ts";
import { inThread } from "../../src/store/thread-calls.ts";

const [folder = ""] = process.argv.slice(2);
const held: number[] = [];
try {
  for (;;) held.push(openSync(devNull, "r"));
} catch {
  // As many as there may be.
}
await using files = inThread({ target: "collections", args: [folder], called: "Collections" });
console.log(await files.blankOf([]).catch(reasonOf));
held.forEach(closeSync);
console.log(await files.blankOf([]));

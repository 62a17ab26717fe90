import { expect, test } from "bun:test";
import type { TidiedResponses } from "../../../../src/core/ports/response-store.ts";
import { tidyResponses } from "../../../../src/core/responses/response-service.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { responseStore } from "../../../support/test-responses.ts";

const nothing: TidiedResponses = { expired: 0, displaced: 0, isDone: true };

/** Tidies until all that is scripted is done, or has failed. */
async function tidied(script: readonly (TidiedResponses | Error)[]) {
  const { log, lines } = recordingLog();
  const stopping = new AbortController();
  const left = [...script];
  const store = responseStore();
  store.tidy = async () => {
    const next = left.shift() ?? nothing;
    if (left.length === 0) stopping.abort();
    if (next instanceof Error) throw next;
    return next;
  };
  await tidyResponses({ store, recover: async () => {}, everyMs: 0, log }, stopping.signal);
  return lines.map(({ level, message, fields }) => [level, message, fields]);
}

test("what is deleted in several steps is told once, with how much it was", async () => {
  expect(
    await tidied([
      { expired: 100, displaced: 3, isDone: false },
      { expired: 20, displaced: 4, isDone: true },
    ]),
  ).toEqual([
    ["info", "stored responses have expired, and are deleted", { count: 120 }],
    [
      "warn",
      "the oldest responses of who stores most are deleted: all are larger than responses.max_bytes",
      { count: 7 },
    ],
  ]);
});

test("a store that cannot be tidied is told once, and is tried again", async () => {
  const reason = "The disk is full.";
  const away = new Error(reason);
  const failed = ["warn", "stored responses cannot be tidied", { reason }];
  expect(await tidied([away, away, nothing, away])).toEqual([failed, failed]);
});

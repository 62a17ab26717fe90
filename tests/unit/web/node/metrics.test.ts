import { expect, test } from "bun:test";
import { readLoad } from "../../../../src/web/node/metrics.ts";

test("sums what the models report, whatever stands between", () => {
  const text = `# HELP paddock_queue_length Requests that wait. paddock_queue_length 99
# TYPE paddock_queue_length gauge
paddock_queue_length{model="a"} 2
paddock_queue_length{model="b {odd} 7"} 1
paddock_slots_in_use{model="a"} 1
paddock_slots{model="a"} 4
paddock_slots{model="b"} 2
paddock_generated_tokens_total{model="a",kind="x"} 1.5e3 1794739783509
paddock_generated_tokens_total{model="b"} 500
process_cpu_seconds_total 12
`;
  expect(readLoad(text)).toEqual({ queue: 3, slotsInUse: 1, slots: 6, generatedTokens: 2000 });
});

test("takes what is missing or no number for nothing", () => {
  const nothing = { queue: 0, slotsInUse: 0, slots: 0, generatedTokens: 0 };
  expect(readLoad("")).toEqual(nothing);
  expect(readLoad("paddock_queue_length NaN\npaddock_slots +Inf\n")).toEqual(nothing);
});

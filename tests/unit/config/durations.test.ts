import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../src/config/load.ts";
import { modelKeys, nodeKeys } from "../../../src/config/settings.ts";

/** Beyond it, a timer fires at once. */
const longestTimer = (2 ** 31 - 1) / 1000;

const durations = [...nodeKeys(), ...modelKeys()].filter(({ description }) =>
  /^seconds/i.test(description),
);

describe("a duration of the configuration", () => {
  test("is known by its description", () => {
    const names = durations.map(({ path }) => path.join("."));
    expect(names).toContainValues(["limits.request_timeout", "keep_alive", "http.keep_alive"]);
  });

  test.each(durations.map(({ path, range }) => [path.join("."), range] as const))(
    "is one that a timer can run for: %s",
    (_, range) => {
      const [, most = Number.POSITIVE_INFINITY] = range ?? [];
      expect(most).toBeLessThan(longestTimer);
    },
  );

  test("is refused beyond, with what is allowed", () => {
    const load = () => loadConfig({ env: { PADDOCK_REQUEST_TIMEOUT: "2147484" }, flags: {} });
    expect(load).toThrow(
      "environment variable PADDOCK_REQUEST_TIMEOUT: 'limits.request_timeout' must be an integer from 0 to 2073600; found 2147484.",
    );
  });
});

import { describe, expect, test } from "bun:test";
import { reportLines } from "../../../../src/cli/serve/command.ts";

const node = {
  id: "1",
  pid: 42,
  processStart: "1",
  host: "here",
  startedAt: "2026-11-15T00:00:00Z",
  address: "http://127.0.0.1:8080",
  config: "/etc/paddock.toml",
};
const who = "The node at http://127.0.0.1:8080 (process 42)";
const file = node.config;

describe("the report of a reload", () => {
  test("names what is in force and what needs a restart", () => {
    const outcome = { changed: ["log_level"], needsRestart: ["port", "models.b"] };
    expect(reportLines({ node, outcome }, file)).toEqual([
      `${who} read its configuration.`,
      "In force now: log_level.",
      "Needs a restart, and is as it was: port, models.b.",
    ]);
  });

  test("says where nothing changed", () => {
    const outcome = { changed: [], needsRestart: [] };
    expect(reportLines({ node, outcome }, file)).toEqual([
      `${who} runs with this configuration already.`,
    ]);
  });

  test("says why nothing was changed, and that the node reads another file", () => {
    const outcome = { changed: [], needsRestart: [], error: "'port' must be a number." };
    expect(reportLines({ node, outcome }, "/home/ada/paddock.toml")).toEqual([
      `${who} changed nothing: 'port' must be a number.`,
      "It reads /etc/paddock.toml, not /home/ada/paddock.toml.",
    ]);
  });

  test("says what to do about one that does not answer", () => {
    expect(reportLines({ node, outcome: undefined }, file)).toEqual([
      `${who} did not answer. If it hangs, restart it.`,
    ]);
  });
});

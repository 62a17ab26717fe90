import { describe, expect, test } from "bun:test";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { operations, targetOf } from "../../src/server/operations.ts";
import { parsePrometheus } from "../support/prometheus-text.ts";
import { read } from "../support/repository-text.ts";
import { testApp } from "../support/test-app.ts";

const shared = {
  numbers: () => ({ isUp: true, losses: 0, decidedAlone: 0 }),
  report: () => ({}),
};
const served = parsePrometheus(await (await testApp({ shared }).get("/metrics")).text());
const page = await read("docs/operating.md");

/** Every name that a text uses, a histogram's parts included. */
const namesIn = (text: string): Set<string> => new Set(text.match(/paddock_[a-z0-9_]+/g));

/** Every name that can be asked for. */
const known = new Set(
  [...served].flatMap(([name, { type }]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
);

describe("the handbook's page on operating", () => {
  test("lists exactly the series that /metrics serves, with their types", () => {
    const rows = [...page.matchAll(/^\| `(paddock_\w+)` \| (\w+) \| ([^|]+) \|/gm)];
    expect(rows.map(([, name, type]) => [name, type]).sort()).toEqual(
      [...served].map(([name, { type }]) => [name, type]).sort(),
    );
  });

  test("warns with expressions of series that there are", () => {
    const expressions = page.split("## What should I be warned of?")[1]?.split("## ")[0] ?? "";
    expect(namesIn(expressions).size).toBeGreaterThan(3);
    expect([...namesIn(expressions)].filter((name) => !known.has(name))).toEqual([]);
  });

  test("shows the scrape configuration that is shipped", async () => {
    const file = (await read("deploy/prometheus.yml")).replace(/^ *#.*\n/gm, "");
    const [, shown] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    expect(shown).toBe(file);
  });

  test("lists every operation that a request can count as", () => {
    const [, list = ""] = /`operation` is (.*?)\. /.exec(page) ?? [];
    const names = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const served = new Set(operations.map(({ facts }) => facts.name));
    const others = ["/", "/docs/start.js", "/nowhere"].map((path) => targetOf(path).name);
    expect(names).toEqual([...served, ...others]);
  });
});

const Dashboard = T.Object({
  uid: T.String({ minLength: 1 }),
  title: T.Literal("Paddock"),
  schemaVersion: T.Integer({ minimum: 36 }),
  templating: T.Object({ list: T.Array(T.Object({ name: T.String(), type: T.String() })) }),
  panels: T.Array(
    T.Object({
      id: T.Integer(),
      type: T.Union([T.Literal("timeseries"), T.Literal("stat")]),
      title: T.String({ minLength: 1 }),
      datasource: T.Object({
        type: T.Literal("prometheus"),
        uid: T.String({ pattern: "^\\$\\{datasource\\}$" }),
      }),
      gridPos: T.Object({ x: T.Integer(), y: T.Integer(), w: T.Integer(), h: T.Integer() }),
      targets: T.Array(T.Object({ expr: T.String({ minLength: 1 }), refId: T.String() }), {
        minItems: 1,
      }),
    }),
    { minItems: 1 },
  ),
});

describe("the Grafana dashboard", async () => {
  const text = await read("deploy/grafana-dashboard.json");
  const dashboard = Value.Parse(Dashboard, JSON.parse(text));

  test("asks only for series that /metrics serves, and shows them all", () => {
    const asked = namesIn(text);
    expect([...asked].filter((name) => !known.has(name))).toEqual([]);
    const shown = [...served.keys()].filter((name) =>
      [name, `${name}_bucket`, `${name}_count`].some((part) => asked.has(part)),
    );
    expect(shown).toEqual([...served.keys()]);
  });

  test("uses the variables that it defines, and no others", () => {
    const variables = dashboard.templating.list.map(({ name }) => name);
    const used = [...text.matchAll(/\$\{?([a-z]\w*)/g)].map(([, name = ""]) => name);
    expect([...new Set(used)].sort()).toEqual(variables.sort());
  });

  test("has panels that lie beside each other, each with an id of its own", () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });
});

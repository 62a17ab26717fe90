/** Reads Prometheus' text format, and refuses what a collector would: names, types, order, histograms. */

interface Family {
  type: string;
  help: string;
  samples: Sample[];
}

interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

export type Families = ReadonlyMap<string, Family>;

const metaLine = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/;
const sampleLine = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelPart = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(,|$)/y;
const types = new Set(["counter", "gauge", "histogram"]);

export function parsePrometheus(text: string): Families {
  if (!text.endsWith("\n")) throw new Error("The last line does not end");
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let helped: { name: string; help: string } | undefined;
  let current: { name: string; family: Family } | undefined;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const meta = metaLine.exec(line);
    const [, kind, about = "", rest = ""] = meta ?? [];
    if (kind === "HELP") {
      helped = { name: about, help: rest };
      continue;
    }
    if (kind === "TYPE") {
      if (helped?.name !== about) throw new Error(`TYPE without its HELP: ${line}`);
      if (!types.has(rest)) throw new Error(`Unknown type: ${line}`);
      if (families.has(about)) throw new Error(`Described twice: ${about}`);
      current = { name: about, family: { type: rest, help: helped.help, samples: [] } };
      families.set(about, current.family);
      continue;
    }
    const sample = parseSample(line);
    const identity = line.slice(0, line.lastIndexOf(" "));
    if (seen.has(identity)) throw new Error(`Twice: ${identity}`);
    seen.add(identity);
    if (current === undefined || !belongs(sample.name, current.name, current.family.type)) {
      throw new Error(`A sample outside its family: ${line}`);
    }
    current.family.samples.push(sample);
  }
  for (const [name, family] of families) check(name, family);
  return families;
}

/** The value of the one sample that has these labels; `suffix` such as `_count` for a histogram's. */
export function sampleValue(
  families: Families,
  name: string,
  labels: Readonly<Record<string, string>> = {},
  suffix = "",
): number | undefined {
  const wanted = Object.entries(labels);
  const found = (families.get(name)?.samples ?? []).filter(
    (sample) =>
      sample.name === name + suffix &&
      Object.keys(sample.labels).length === wanted.length &&
      wanted.every(([key, value]) => sample.labels[key] === value),
  );
  return found[0]?.value;
}

function parseSample(line: string): Sample {
  const match = sampleLine.exec(line);
  if (match === null) throw new Error(`Not a sample: ${line}`);
  const [, name = "", inside = "", number = ""] = match;
  const value = number === "+Inf" ? Number.POSITIVE_INFINITY : Number(number);
  if (Number.isNaN(value)) throw new Error(`Not a number: ${line}`);
  const labels: Record<string, string> = {};
  labelPart.lastIndex = 0;
  while (labelPart.lastIndex < inside.length) {
    const part = labelPart.exec(inside);
    if (part === null) throw new Error(`Not a label: ${line}`);
    const [, key = "", text = ""] = part;
    if (key in labels) throw new Error(`A label twice: ${line}`);
    labels[key] = text.replace(/\\(.)/g, (_, after) => (after === "n" ? "\n" : after));
  }
  return { name, labels, value };
}

function belongs(sample: string, family: string, type: string): boolean {
  if (type !== "histogram") return sample === family;
  return ["_bucket", "_sum", "_count"].some((suffix) => sample === family + suffix);
}

function check(name: string, { type, samples }: Family): void {
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`Not named a total: ${name}`);
  if (type === "counter" && samples.some(({ value }) => value < 0)) {
    throw new Error(`A counter below 0: ${name}`);
  }
  if (type !== "histogram") return;
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [labels, group] of groups) {
    const inBuckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const counts = inBuckets.map(({ value }) => value);
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    if (inBuckets.at(-1)?.labels.le !== "+Inf" || counts.at(-1) !== count) {
      throw new Error(`The last bucket is not the count: ${name}${labels}`);
    }
    if (counts.some((value, at) => value < (counts[at - 1] ?? 0))) {
      throw new Error(`Buckets that fall: ${name}${labels}`);
    }
  }
}

/** Who may import whom: the table of src/, held by `bun run check`. What is not in it is refused. */
import { dirname, join, relative, resolve } from "node:path";

interface Layer {
  /** Other folders of src/, or single modules of them. */
  imports?: readonly string[];
  /** Packages and modules of the runtime; `node:*` is all of Node's. */
  packages?: readonly string[];
}

const root = resolve(import.meta.dir, "../src");
const typebox = "@sinclair/typebox";
const parts = ["core", "config", "server", "engine", "runner", "store", "ingest", "mcp", "models"];
const pageParts = [
  "core/byte-size.ts",
  "core/progress.ts",
  "client/api-client.ts",
  "client/api-error.ts",
  "client/wire.ts",
];

/** A folder's own modules are always allowed. The deepest folder that is named here decides. */
const layers: Record<string, Layer> = {
  core: {},
  validation: { packages: [typebox] },
  subprocess: { packages: ["bun:ffi", "node:fs", "node:os"] },
  packaging: { imports: ["core", "../package.json"], packages: ["node:*"] },
  config: {
    imports: ["core", "validation"],
    packages: [typebox, "smol-toml", "fastest-levenshtein"],
  },
  client: { imports: ["server"], packages: [typebox, "eventsource-parser"] },
  server: {
    imports: ["core", "validation"],
    packages: [
      "elysia",
      "@elysiajs/swagger",
      "@fastify/busboy",
      "swagger-ui-dist",
      typebox,
      "node:crypto",
      "node:path",
    ],
  },
  mcp: { imports: ["core", "server"], packages: ["@modelcontextprotocol/sdk", typebox] },
  engine: {
    imports: ["core", "validation/json-file.ts", "subprocess", "packaging"],
    packages: ["node-llama-cpp", typebox, "bun:ffi", "node:*"],
  },
  runner: { imports: ["core", "subprocess", "engine/load-model.ts"], packages: ["node:*"] },
  gateway: {
    imports: ["core", "client/api-error.ts", "client/event-stream.ts", "client/json-fields.ts"],
    packages: ["node:*"],
  },
  "gateway/redis": {
    imports: ["core", "client/json-fields.ts", "store/keys"],
    packages: ["bun", typebox, "node:crypto"],
  },
  store: {
    // Its threads are told where usearch's addon is.
    imports: ["core", "packaging/native-libraries.ts"],
    packages: ["@qdrant/js-client-rest", "stemmer", "bun:sqlite", "node:*"],
  },
  // usearch blocks: it runs in a thread of its own.
  "store/sqlite/usearch-index.ts": { packages: ["usearch"] },
  ingest: {
    imports: ["core", "subprocess"],
    packages: [
      "bun",
      "csv-parse",
      "jszip",
      "mammoth",
      "unpdf",
      "marked",
      "postal-mime",
      "saxes",
      "node:*",
    ],
  },
  models: {
    imports: ["core", "validation/json-file.ts", "packaging"],
    packages: [typebox, "smol-toml", "bun:sqlite", "node:*"],
  },
  telemetry: {
    imports: ["core"],
    packages: ["prom-client", "@opentelemetry/*", "node:diagnostics_channel", "node:http"],
  },
  web: { imports: pageParts, packages: ["preact", "@preact/signals", "marked"] },
  node: {
    imports: [...parts, "gateway", "telemetry", "subprocess"],
    packages: ["node:*"],
  },
  cli: {
    imports: [...parts, "gateway", "subprocess", "packaging", "node", "client"],
    packages: ["commander", "chokidar", "fastest-levenshtein", "pino", "pino-pretty", "node:*"],
  },
};

/** Where only the types of the wire may be known. */
const typesOnly: Record<string, string> = { client: "server" };

/** Loaded only where a configuration asks for it: outside these folders with `import()`, or as types. */
const loadedOnDemand = ["gateway", "node/gateway"];

const specifier =
  /^(import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s)?"([^"]+)"|import\("([^"]+)"\)/gm;

const found: string[] = [];
for await (const file of new Bun.Glob("**/*.{ts,tsx}").scan(root)) {
  const place = layerOf(file);
  if (place === undefined) continue;
  const text = await Bun.file(join(root, file)).text();
  for (const [, , isType, declared, dynamic] of text.matchAll(specifier)) {
    const name = declared ?? dynamic ?? "";
    const kind = isType === undefined ? (dynamic === undefined ? "value" : "dynamic") : "type";
    const why = refused(file, place, name, kind);
    if (why !== undefined) found.push(`src/${file} imports '${name}': ${why}`);
  }
}
if (found.length > 0) {
  console.error(found.sort().join("\n"));
  console.error("The table of who may import whom is in scripts/check-imports.ts.");
  process.exit(1);
}

/** The deepest entry that this file is in; none for main.ts and what else is at the top. */
function layerOf(file: string): string | undefined {
  const inside = Object.keys(layers).filter((name) => isWithin(file, name));
  return inside.sort((a, b) => b.length - a.length)[0];
}

function refused(
  file: string,
  place: string,
  name: string,
  kind: "value" | "type" | "dynamic",
): string | undefined {
  const { imports = [], packages = [] } = layers[place] ?? {};
  if (!name.startsWith(".")) {
    if (packages.some((allowed) => isPackage(name, allowed))) return;
    return `'${place}' has only ${packages.join(", ") || "no packages"}`;
  }
  const target = relative(root, join(root, dirname(file), name));
  const isOnDemand = (path: string) => loadedOnDemand.some((one) => isWithin(path, one));
  if (kind === "value" && isOnDemand(target) && !isOnDemand(file)) return "load it with 'import()'";
  if (isWithin(target, place)) return;
  const folder = imports.find((allowed) => isWithin(target, allowed));
  if (folder === undefined) return `'${place}' has only ${imports.join(", ") || "itself"}`;
  if (typesOnly[place] === folder && kind !== "type") return "only its types: write 'import type'";
}

function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder}/`);
}

function isPackage(name: string, allowed: string): boolean {
  return allowed.endsWith("*") ? name.startsWith(allowed.slice(0, -1)) : isWithin(name, allowed);
}

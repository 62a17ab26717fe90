/** The manifests of deploy/: against the schemas of what reads them, and against each other. */
import { describe, expect, test } from "bun:test";
import { readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { DCLinter } from "dclint";
import { Deployment, StatefulSet } from "kubernetes-models/apps/v1";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { ConfigMap, PersistentVolumeClaim, Service } from "kubernetes-models/v1";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/schema.ts";
import { tempDir } from "../support/temp-dir.ts";

const root = join(import.meta.dir, "..", "..");
const deploy = join(root, "deploy");

const configOf = (text: string, env: Record<string, string> = {}): Config =>
  loadConfig({ file: { path: "paddock.toml", text }, env, flags: {} });

/** What both kinds of deployment must be. */
function expectShared(config: Config): void {
  expect(config.shared.redis).toBe("redis://redis:6379");
  expect(config.vectorstore.url).toBe("http://qdrant:6333");
}

test("the systemd unit lets the node choose who runs first, and ends no process for a system call", async () => {
  const unit = await Bun.file(join(deploy, "paddock.service")).text();
  const filters = [...unit.matchAll(/^SystemCallFilter=(.*)$/gm)].map(([, calls]) => calls);
  expect(filters.at(-1)?.split(" ")).toEqual(["sched_setattr", "setpriority"]);
  expect(unit).toContain("\nSystemCallErrorNumber=EPERM\n");
});

describe("the compose file", () => {
  const path = join(deploy, "compose", "compose.yaml");

  test("is valid by the Compose Specification's schema, and to a linter", () => {
    // Its taste in order is not ours: what a reader looks for first comes first.
    const off = [
      "services-alphabetical-order",
      "service-keys-order",
      "top-level-properties-order",
      "require-quotes-in-ports",
      "service-image-require-explicit-tag",
      "no-build-and-image",
      "no-quotes-in-volumes",
    ];
    const rules = Object.fromEntries(off.map((rule) => [rule, 0 as const]));
    const [result] = new DCLinter({ rules, quiet: true, debug: false, exclude: [] }).lintFiles(
      [path],
      false,
    );
    expect(result?.messages.map(({ rule, message, line }) => [rule, message, line])).toEqual([]);
  });

  test("is refused by the same check where a key is misspelt", async () => {
    await using folder = await tempDir();
    const spoiled = (await Bun.file(path).text()).replace("healthcheck:", "healtcheck:");
    const file = join(folder.path, "compose.yaml");
    await writeFile(file, spoiled);
    const [result] = new DCLinter({
      rules: {},
      quiet: true,
      debug: false,
      exclude: [],
    }).lintFiles([file], false);
    expect(result?.messages.map(({ rule }) => rule)).toContain("invalid-schema");
  });

  test("has a configuration that the node takes", async () => {
    const text = await Bun.file(join(deploy, "compose", "paddock.toml")).text();
    expectShared(configOf(text));
    // The model that the profile with a GPU serves, as its comment has it.
    const [, commented = ""] = /\n(# \[\[models\]\].*)/s.exec(text) ?? [];
    const withGpu = configOf(`${text}\n${commented.replaceAll(/^# /gm, "")}`);
    expect(withGpu.models.at(-1)).toMatchObject({ source: "openai:http://vllm:8000/v1" });
  });
});

const Manifest = T.Object({
  apiVersion: T.String(),
  kind: T.String(),
  metadata: T.Object({ name: T.String() }),
});

type Manifest = Static<typeof Manifest>;

/** By the kinds that are used here: the manifest as Kubernetes' client would have it. */
const models: readonly ((manifest: unknown) => { validate(): void } | undefined)[] = [
  (manifest) => (ConfigMap.is(manifest) ? new ConfigMap(manifest) : undefined),
  (manifest) => (Deployment.is(manifest) ? new Deployment(manifest) : undefined),
  (manifest) => (NetworkPolicy.is(manifest) ? new NetworkPolicy(manifest) : undefined),
  (manifest) =>
    PersistentVolumeClaim.is(manifest) ? new PersistentVolumeClaim(manifest) : undefined,
  (manifest) => (PodDisruptionBudget.is(manifest) ? new PodDisruptionBudget(manifest) : undefined),
  (manifest) => (Service.is(manifest) ? new Service(manifest) : undefined),
  (manifest) => (StatefulSet.is(manifest) ? new StatefulSet(manifest) : undefined),
];

async function manifests(): Promise<Manifest[]> {
  const folder = join(deploy, "kubernetes");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
  const texts = await Promise.all(names.map((name) => Bun.file(join(folder, name)).text()));
  // Checked, and not cleaned: what nobody foresaw has to stay.
  return texts.flatMap((text) => Value.Decode(T.Array(Manifest), Bun.YAML.parse(text)));
}

describe("the Kubernetes manifests", async () => {
  const all = await manifests();
  const named = all.map((manifest) => ({
    name: `${manifest.kind} ${manifest.metadata.name}`,
    manifest,
  }));

  test.each(named)("are valid by Kubernetes' schemas: $name", ({ manifest }) => {
    const model = models.map((make) => make(manifest)).find((made) => made !== undefined);
    if (model === undefined) throw new Error(`No schema is imported for ${manifest.kind}`);
    model.validate();
  });

  test("have no field that Kubernetes does not know", async () => {
    expect(await typeErrors(all)).toBe("");
    const [first] = all.filter(({ kind }) => kind === "Deployment");
    const spoiled = JSON.parse(JSON.stringify(first).replace('"readinessProbe"', '"readyProbe"'));
    expect(await typeErrors([spoiled])).toContain("readyProbe");
  });

  test("refer to each other by names that there are", () => {
    const text = JSON.stringify(all);
    const services = all.filter(({ kind }) => kind === "Service").map(({ metadata }) => metadata);
    const hosts = [...text.matchAll(/(?:redis|https?):\/\/([a-z0-9-]+):\d+/g)].map(
      ([, host]) => host,
    );
    expect(new Set(hosts)).toEqual(new Set(["redis", "qdrant", "vllm"]));
    for (const host of hosts) expect(services.map(({ name }) => name)).toContain(String(host));
    // Passwords are named, never written.
    expect(all.filter(({ kind }) => kind === "Secret")).toEqual([]);
    expect(
      new Set([...text.matchAll(/"secretKeyRef":\{"name":"(\w+)"/g)].map(([, name]) => name)),
    ).toEqual(new Set(["paddock", "vllm"]));
  });

  test("have a configuration that the node takes, and time to drain by it", () => {
    const found: readonly unknown[] = all;
    const config = configOf(String(found.find(ConfigMap.is)?.data?.["paddock.toml"]));
    expectShared(config);
    const node = found.filter(Deployment.is).find(({ metadata }) => metadata?.name === "paddock");
    const { template } = node?.spec ?? {};
    const [container] = template?.spec?.containers ?? [];
    const slept = Number(container?.lifecycle?.preStop?.exec?.command?.[1]);
    expect(template?.spec?.terminationGracePeriodSeconds).toBeGreaterThan(
      slept + config.limits.shutdown_grace,
    );
    expect([
      container?.livenessProbe?.httpGet?.path,
      container?.readinessProbe?.httpGet?.path,
    ]).toEqual(["/health", "/ready"]);
    // Every variable that it is given is one that the node knows.
    const env = Object.fromEntries((container?.env ?? []).map(({ name }) => [name, "/a/value"]));
    expect(() => configOf("", env)).not.toThrow();
  });
});

const modules: Record<string, string> = {
  v1: "v1",
  "apps/v1": "apps/v1",
  "policy/v1": "policy/v1",
  "networking.k8s.io/v1": "networking.k8s.io/v1",
};

/** What TypeScript says of the manifests as literals of Kubernetes' types, which refuse unknown fields. */
async function typeErrors(some: readonly Manifest[]): Promise<string> {
  await using folder = await tempDir();
  await symlink(join(root, "node_modules"), join(folder.path, "node_modules"));
  const lines = some.map((manifest, at) => {
    const { apiVersion, kind } = manifest;
    const from = `kubernetes-models/${modules[apiVersion] ?? "unknown"}`;
    return `import type { I${kind} as Kind${at} } from "${from}";\nexport const manifest${at}: Kind${at} = ${JSON.stringify(manifest)};`;
  });
  const file = join(folder.path, "manifests.ts");
  await writeFile(file, lines.join("\n"));
  const tsc = Bun.spawn(
    [
      process.execPath,
      join(root, "node_modules", ".bin", "tsc"),
      ...["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "esnext"],
      ...["--types", "", file],
    ],
    { cwd: folder.path, stdout: "pipe", stderr: "pipe" },
  );
  return await new Response(tsc.stdout).text();
}

/** Two nodes as processes, with a real Redis server between them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readiness } from "../../src/server/operations/node/schema.ts";
import { decode } from "../support/decode.ts";
import { freePort } from "../support/free-port.ts";
import { installed } from "../support/installed-program.ts";
import { runPaddock, type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { hasRedis, startRedis } from "../support/redis-server.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyEmbeddingConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const openssl = installed("openssl");

/** Longer than any machine takes: what is tried here is not how soon the server answers. */
const patient = "timeout = 10";

async function nodeFolder(shared: string, top = ""): Promise<TempDir> {
  const folder = await tempDir();
  const config = `${top}\n${await tinyEmbeddingConfig()}\n[shared]\n${shared}\n`;
  await writeFile(join(folder.path, "paddock.toml"), config);
  return folder;
}

const ask = ({ origin }: ServingPaddock, key?: string): Promise<Response> =>
  fetch(`${origin}/v1/embeddings`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ model: "tiny-embedding", input: "a" }),
  });

async function ready({ origin }: ServingPaddock, key: string) {
  const response = await fetch(`${origin}/ready`, { headers: { authorization: `Bearer ${key}` } });
  const { status } = response;
  return { status, reasons: [...(await decode(Readiness, response)).reasons] };
}

describe.skipIf(!hasRedis)("two nodes that share a Redis server", () => {
  const env = {
    PADDOCK_SHARED_PASSWORD: "hunter2hunter2",
    PADDOCK_DEFAULT_REQUESTS_PER_MINUTE: "10",
  };
  const resources = new AsyncDisposableStack();
  let first: TempDir;
  let second: TempDir;
  let one: ServingPaddock;
  let other: ServingPaddock;
  beforeAll(async () => {
    const redis = resources.use(await startRedis({ password: "hunter2hunter2" }));
    const shared = `redis = "redis://127.0.0.1:${redis.port}"\n${patient}`;
    first = resources.use(await nodeFolder(shared));
    second = resources.use(await nodeFolder(shared));
    one = resources.use(await servePaddock({ cwd: first.path, env }));
    other = resources.use(await servePaddock({ cwd: second.path, env }));
  });
  afterAll(() => resources.disposeAsync());

  const keys = ({ path: cwd }: TempDir, ...args: string[]) =>
    runPaddock(["keys", ...args], { cwd, env });

  test("have the same keys: given out, listed and revoked by either", async () => {
    expect([(await ask(one)).status, (await ask(other)).status]).toEqual([200, 200]);
    const created = await keys(first, "create", "ada", "--requests-per-minute", "4");
    const key = created.stdout.trim();
    await waitFor("both nodes to want keys", async () => {
      const statuses = [(await ask(one)).status, (await ask(other)).status];
      return statuses.every((status) => status === 401);
    });
    expect((await keys(second, "list")).stdout).toContain("4 requests/min");
    const answers = [await ask(one, key), await ask(other, key), await ask(one, key)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ headers }) => headers.get("x-ratelimit-remaining-requests"))).toEqual([
      "3",
      "2",
      "1",
    ]);
    expect((await keys(second, "revoke", "ada")).stdout).toContain("Revoked the key 'ada'");
    await waitFor("both nodes to refuse it", async () => {
      const statuses = [(await ask(one, key)).status, (await ask(other, key)).status];
      return statuses.every((status) => status === 401);
    });
    for (const node of [one, other]) expect(node.stderr()).not.toContain("hunter2");
  });

  test("hold a caller to one limit, with both of them under load", async () => {
    const key = (await keys(first, "create", "bob")).stdout.trim();
    const began = performance.now();
    // Either lets in one of the first two; on a busy machine one may come to all the others first.
    const firsts: Response[] = [];
    for (const node of [one, other]) {
      let answer = await ask(node, key);
      while (answer.status === 401) answer = await ask(node, key); // until it knows the key
      firsts.push(answer);
    }
    const rest = await Promise.all(
      Array.from({ length: 38 }, (_, at) => ask(at % 2 === 0 ? one : other, key)),
    );
    const responses = [...firsts, ...rest];
    const refilled = Math.ceil((performance.now() - began) / 1000);
    const statuses = responses.map(({ status }) => status);
    const letIn = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect(letIn).toBeWithin(10, 10 + refilled + 1);
    expect(firsts.map(({ status }) => status)).toEqual([200, 200]);
    const refused = responses.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused?.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  });

  test("say what one of them keeps to itself, and share its keys when they are told to", async () => {
    await using redis = await startRedis();
    await using folder = await nodeFolder("");
    const given = await runPaddock(["keys", "create", "ada"], { cwd: folder.path });
    const key = given.stdout.trim();
    const env = { PADDOCK_SHARED_REDIS: redis.url, PADDOCK_SHARED_TIMEOUT: "10" };
    await using node = await servePaddock({ cwd: folder.path, env });
    expect(node.stderr()).toContain("the collection 'default' is embedded");
    expect(node.stderr()).toContain("a key of keys.sqlite open");
    const doctor = async () => (await runPaddock(["doctor"], { cwd: folder.path, env })).stdout;
    expect(await doctor()).toMatch(/shared: Redis \d\S* at 127\.0\.0\.1:\d+ answers; 0 keys are/);
    const share = () => runPaddock(["keys", "share"], { cwd: folder.path, env });
    expect((await share()).stdout).toContain("Shared 1 of 1 keys; 0 were shared before.");
    expect((await share()).stdout).toContain("Shared 0 of 1 keys; 1 were shared before.");
    await waitFor("the node to know it", async () => (await ask(node, key)).status === 200);
    await redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    const said = await doctor();
    expect(said).toContain("It may drop keys where memory is short (maxmemory-policy allkeys-lru)");
    expect(said).toContain("one key is shared");
    expect(said).toContain("Set vectorstore.url to a Qdrant server for all nodes");
    expect(said).not.toContain("keys.sqlite open");
    const alone = await runPaddock(["keys", "share"], { cwd: folder.path });
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining("[shared] redis")]);
  });

  test.skipIf(openssl === undefined)(
    "reach it by TLS, and only where its certificate is trusted",
    async () => {
      await using folder = await nodeFolder("timeout = 10");
      const file = (name: string) => join(folder.path, name);
      const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
      const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
      const paths = ["-keyout", file("key.pem"), "-out", file("certificate.pem")];
      const made = Bun.spawnSync([
        openssl ?? "",
        "req",
        ...kind,
        "-days",
        "2",
        ...subject,
        ...paths,
      ]);
      expect(made.success).toBe(true);
      const port = await freePort();
      const tls = ["--tls-port", String(port), "--tls-auth-clients", "no"];
      const certificate = [
        "--tls-cert-file",
        file("certificate.pem"),
        "--tls-key-file",
        file("key.pem"),
      ];
      await using _ = await startRedis({ args: [...tls, ...certificate] });
      const list = (env: Record<string, string>) =>
        runPaddock(["keys", "list"], {
          cwd: folder.path,
          env: { PADDOCK_SHARED_REDIS: `rediss://127.0.0.1:${port}`, ...env },
          // Whom to trust is read when a process starts.
          isProcess: true,
        });
      const trusted = await list({ NODE_EXTRA_CA_CERTS: file("certificate.pem") });
      expect([trusted.code, trusted.stderr]).toEqual([
        0,
        expect.stringContaining("No key was given"),
      ]);
      const stranger = await list({});
      expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining("certificate")]);
    },
  );

  test("start without it, want keys, and are ready once it is there", async () => {
    await using redis = await startRedis();
    await redis.kill();
    await using folder = await nodeFolder(`redis = "${redis.url}"`);
    const env = { PADDOCK_API_KEYS: "a-good-key" };
    await using node = await servePaddock({ cwd: folder.path, env });
    const before = await ready(node, "a-good-key");
    expect([before.status, before.reasons]).toEqual([
      503,
      [expect.stringContaining("The keys are in Redis, which could not be read yet (")],
    ]);
    expect((await ask(node, `pk_0123456789ab_${"s".repeat(43)}`)).status).toBe(503);
    expect((await ask(node)).status).toBe(401);
    // What the configuration holds needs nobody else.
    expect((await ask(node, "a-good-key")).status).toBe(200);
    const doctor = await runPaddock(["doctor"], { cwd: folder.path, env });
    expect([doctor.code, doctor.stdout]).toEqual([
      1,
      expect.stringContaining("there is no connection to it"),
    ]);
    const listed = await runPaddock(["keys", "list"], { cwd: folder.path, env });
    expect([listed.code, listed.stderr]).toEqual([
      1,
      expect.stringContaining(`Redis at 127.0.0.1:${redis.port} cannot be used`),
    ]);
    await redis.start();
    await waitFor("it to be ready", async () => (await ready(node, "a-good-key")).status === 200);
    expect((await ask(node, `pk_0123456789ab_${"s".repeat(43)}`)).status).toBe(401);
  });

  test("do not open to everyone beyond loopback, also where no key is known", async () => {
    await using redis = await startRedis();
    await using folder = await nodeFolder(`redis = "${redis.url}"\n${patient}`, 'host = "0.0.0.0"');
    const at = ({ origin }: ServingPaddock) => `http://127.0.0.1:${new URL(origin).port}`;
    {
      await using node = await servePaddock({ cwd: folder.path });
      expect(node.stderr()).toContain("no key was given out yet");
      expect((await ask({ ...node, origin: at(node) })).status).toBe(401);
    }
    await redis.kill();
    await using node = await servePaddock({ cwd: folder.path });
    const origin = at(node);
    await redis.start();
    await waitFor("it to be ready", async () => (await fetch(`${origin}/ready`)).status === 200);
    expect((await ask({ ...node, origin })).status).toBe(401);
    const given = await runPaddock(["keys", "create", "ada"], { cwd: folder.path });
    const key = given.stdout.trim();
    await waitFor("its key", async () => (await ask({ ...node, origin }, key)).status === 200);
  });
});

/** Starts an executable, asks it the five operations of the specification, and prints `ok …` or `FAIL …` for each; see check-release.ts. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

const [program = "", folder = "", chat = "", embedding = ""] = process.argv.slice(2);

const check = (what: string, holds: boolean): void =>
  console.log(`${holds ? "ok" : "FAIL"} ${what}`);

/** What `/ready` answers once the models and the handbook are there. */
const complete = JSON.stringify({ status: "ready", reasons: [] });
const pollMs = 50;

async function start() {
  const startedAt = performance.now();
  const node = Bun.spawn([program, "serve", "--port", "0"], {
    cwd: folder,
    env: { HOME: folder },
    stdout: "pipe",
    stderr: "pipe",
  });
  // Whatever goes wrong here, the node does not outlive it.
  process.once("exit", () => node.kill("SIGKILL"));
  const said = new Response(node.stderr).text();
  let text = "";
  for await (const chunk of node.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("Try:")) break;
  }
  const origin = /listening on (\S+)/.exec(text)?.[1];
  if (origin === undefined) throw new Error(`It did not start: ${await said}`);
  const ms = performance.now() - startedAt;
  // Chat is open; the rest comes behind.
  while ((await (await fetch(`${origin}/ready`)).text()) !== complete) await Bun.sleep(pollMs);
  return { node, origin, said, ms };
}

const cold = await start();
console.log(`started in ${(cold.ms / 1000).toFixed(2)} s, for the first time`);
const post = async (path: string, body?: unknown): Promise<Response> =>
  await fetch(`${cold.origin}/v1${path}`, {
    method: "POST",
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
const messages = [{ role: "user", content: "How do I add an API key?" }];

const answer = await post("/chat/completions", { model: chat, max_tokens: 8, messages });
check("chats", answer.ok && (await answer.text()).includes('"chat.completion"'));
const stream = await post("/chat/completions", {
  model: chat,
  max_tokens: 8,
  stream: true,
  rag: true,
  messages,
});
const frames = await stream.text();
check("streams, grounded", frames.includes('"retrieval":{') && frames.includes("data: [DONE]"));
const vectors = await post("/embeddings", { model: embedding, input: ["a", "b"] });
check("embeds", vectors.ok && (await vectors.text()).includes('"embedding":['));
const found = await post("/retrieve", { model: embedding, messages });
check("retrieves from its handbook", found.ok && (await found.text()).includes('"source":"'));
const models = await post("/models");
check("lists its models", (await models.text()).includes(chat));
const info = await post("/info");
check("describes itself", (await info.text()).includes("llama.cpp v"));
const page = await (await fetch(`${cold.origin}/`, { headers: { accept: "text/html" } })).text();
const codePath = /src="(\/page\/[^"]+\.js)"/.exec(page)?.[1] ?? "";
const pageCode = await fetch(`${cold.origin}${codePath}`);
check("serves its page for people", pageCode.ok && (await pageCode.text()).length > 50_000);
const docs = await fetch(`${cold.origin}/docs`);
const script = await fetch(`${cold.origin}/docs/swagger-ui-bundle.js`);
check("serves its documentation", docs.ok && (await script.text()).length > 100_000);
const memory = await Bun.file(`/proc/${cold.node.pid}/status`)
  .text()
  .then((text) => /VmHWM:\s+(\d+)/.exec(text)?.[1])
  .catch(() => undefined);
if (memory !== undefined)
  console.log(`most memory so far: ${(Number(memory) / 1e3).toFixed(0)} MB`);
cold.node.kill("SIGTERM");
check("stops at SIGTERM with exit code 0", (await cold.node.exited) === 0);
const noise = (await cold.said)
  .split("\n")
  .filter((line) => /warn|node-llama-cpp\]|"level":[45]0/i.test(line));
check(`warns of nothing${noise.length === 0 ? "" : `: ${noise[0]}`}`, noise.length === 0);

const warm = await start();
console.log(`started in ${(warm.ms / 1000).toFixed(2)} s, for the second time`);
warm.node.kill("SIGTERM");
await warm.node.exited;
const cache = await readdir(join(folder, ".cache", "paddock"));
check("keeps one folder of libraries", cache.length === 1);
const children = Bun.spawnSync(["pgrep", "-P", String(process.pid)])
  .stdout.toString()
  .trim();
check("leaves no process behind", children === "");
process.exit(0);

/** A node in front of servers that a test plays, without a process or a port of its own. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { given } from "../../src/core/given.ts";
import { PaddockNode } from "../../src/node/paddock-node.ts";
import { createApp } from "../../src/server/app.ts";
import type { Program } from "../../src/subprocess/program.ts";
import { bareNodeOptions } from "./bare-node.ts";
import { vllmModel } from "./recorded-vllm.ts";
import { recordingLog } from "./recording-log.ts";
import { tempDir } from "./temp-dir.ts";

/** The key of the servers. */
export const frontKey = "key-of-the-upstream";

/** A section for a model of the recorded vLLM, by its type: `far-chat`. */
export const frontModel = (
  type: "chat" | "embedding" | "reranker",
  url: string,
  rest = "",
): string => `
[[models]]
name = "far-${type}"
type = "${type}"
source = "openai:${url}/v1"
upstream_model = "${vllmModel}"
api_key_env = "FAR_KEY"
${rest}
`;

interface FrontOptions {
  /** What its collection is told. */
  page?: string;
  env?: Record<string, string>;
  /** What reads its documents; default: nothing can. */
  program?: Program;
}

/** A node whose models all run elsewhere. */
export async function front(toml: string, { page, env = {}, program }: FrontOptions = {}) {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  const path = join(folder.path, "page.md");
  if (page !== undefined) await writeFile(path, page);
  const { log, lines } = recordingLog();
  const options = bareNodeOptions({
    toml,
    env: { PADDOCK_DATA_DIR: folder.path, FAR_KEY: frontKey, ...env },
    baseDir: folder.path,
    ...given({ program }),
  });
  const handbook = async () => (page === undefined ? [] : [{ name: "page.md", path }]);
  const node = resources.use(await PaddockNode.create({ ...options, log, handbook }));
  const app = createApp(node.services);
  const ask = async (path: string, body?: object, init: RequestInit = {}) => {
    const headers = { "content-type": "application/json", ...init.headers };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return await app.handle(new Request(`http://localhost${path}`, { ...sent, ...init, headers }));
  };
  const ready = async () => {
    const response = await ask("/ready");
    return { status: response.status, ...Object(await response.json()) };
  };
  const prepare = () => node.prepare(new AbortController().signal);
  return {
    node,
    handle: (request: Request): Promise<Response> => app.handle(request),
    ask,
    ready,
    prepare,
    lines,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

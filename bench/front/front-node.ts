/** A node that has no model of its own, in front of servers that have one. */
import type { ChatServer } from "../measuring/client.ts";
import { startNode } from "../servers/node-process.ts";

export interface Front extends ChatServer, AsyncDisposable {
  pid: number;
}

/** In front of these, which serve the same model. */
export async function startFront([first, ...others]: readonly ChatServer[]): Promise<Front> {
  const node = await startNode(`[vectorstore]
handbook = false

[[models]]
name = "chat"
type = "chat"
source = "openai:${first?.baseUrl}"
replicas = ${JSON.stringify(others.map(({ baseUrl }) => baseUrl))}
upstream_model = "${first?.model}"
ctx_size = 2048
`);
  return { ...node, model: "chat", [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}

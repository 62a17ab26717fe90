/** The beginning of a conversation that stays the same from turn to turn, as a digest. */
import type { ChatMessage, RawPrompt } from "../core/ports/chat-engine.ts";

/** Two conversations that begin alike for so long may share a replica. */
const mostCharacters = 64 * 1024;

/** Of the scope, the model, and everything up to the first user message. */
export function promptPrefix(
  messages: readonly ChatMessage[],
  { model, scope = "" }: { model: string; scope?: string | undefined },
): string {
  const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify([scope, model]));
  const first = messages.findIndex(({ role }) => role === "user");
  for (const { role, content } of messages.slice(0, first + 1)) {
    hash.update(JSON.stringify([role, content.slice(0, mostCharacters)]));
  }
  return hash.digest("hex");
}

/** A prompt that grows keeps its beginning, however little of it is looked at. */
const mostOfPrompt = 256;

/** The same for a prompt without a template. */
export const rawPrefix = (
  prompt: RawPrompt,
  { model, scope = "" }: { model: string; scope?: string | undefined },
): string =>
  new Bun.CryptoHasher("sha256")
    .update(JSON.stringify([scope, model, prompt.slice(0, mostOfPrompt)]))
    .digest("hex");

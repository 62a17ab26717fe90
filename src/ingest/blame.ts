/** Tells a text that an embedding model's server fails at from a server that is away. */
import { NodeError } from "../core/errors.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";

/** The text that a server embeds if it embeds any. */
const plainText = "A passage.";

interface BlameOptions {
  /** Whether the document has waited: then the server must embed a plain text first, and one that ends at the document is the document's fault. */
  hasWaited: boolean;
  signal: AbortSignal;
}

/** The engine for one document. It throws `unavailable` if the document is to wait for the server, and `upstream_failed` or `upstream_refused` if it may be the cause. */
export async function engineFor(
  engine: EmbeddingEngine,
  { hasWaited, signal }: BlameOptions,
): Promise<EmbeddingEngine> {
  const prove = async (): Promise<void> => {
    await engine.countTokens([plainText], { signal });
    await engine.embed([plainText], { signal });
  };
  if (hasWaited) await prove().catch((error: unknown) => Promise.reject(away(error)));

  const blame = async (error: unknown): Promise<unknown> => {
    const hasAnswered = error instanceof NodeError && error.kind.startsWith("upstream_");
    if (!hasAnswered && !isBroken(error)) return error;
    const failed = hasAnswered
      ? error
      : new NodeError("upstream_failed", error.message, { cause: error });
    const isThere = await prove().then(
      () => true,
      () => false,
    );
    // A server that the document ended is away, and was there just before.
    return isThere || (hasWaited && !hasAnswered) ? failed : away(error);
  };
  const judged = async <Result>(asked: Promise<Result>): Promise<Result> => {
    try {
      return await asked;
    } catch (error) {
      throw signal.aborted ? error : await blame(error);
    }
  };
  return {
    dimension: engine.dimension,
    maxTokens: engine.maxTokens,
    vocabularySize: engine.vocabularySize,
    tokenizer: engine.tokenizer,
    estimatesTokens: engine.estimatesTokens ?? false,
    countTokens: (...asked) => judged(engine.countTokens(...asked)),
    embed: (...asked) => judged(engine.embed(...asked)),
  };
}

const away = (error: unknown): unknown =>
  error instanceof NodeError && error.kind.startsWith("upstream_")
    ? new NodeError("unavailable", error.message, { cause: error })
    : error;

/** Whether the server gave no answer, or broke it off; a refusal such as 503 has no cause. */
const isBroken = (error: unknown): error is NodeError =>
  error instanceof NodeError &&
  (error.kind === "timeout" || (error.kind === "unavailable" && error.cause !== undefined));

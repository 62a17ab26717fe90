/** Tells a text that an embedding model's server fails at from a server that is away. */
import { isPassing, RefusedText } from "../core/documents/ingest-failure.ts";
import { NodeError } from "../core/errors.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";

/** The text that a server embeds if it embeds any. */
const plainText = "A passage.";

interface BlameOptions {
  /** Whether the document has waited: then the server must embed a plain text first, and one that ends at the document is the document's fault. */
  hasWaited: boolean;
  signal: AbortSignal;
}

/** The engine for one document. It throws `unavailable` if the document is to wait for the server, and a `RefusedText`, `upstream_failed` or the server's refusal if the document may be the cause. */
export async function engineFor(
  engine: EmbeddingEngine,
  { hasWaited, signal }: BlameOptions,
): Promise<EmbeddingEngine> {
  const { dimension, maxTokens, vocabularySize, tokenizer, estimatesTokens = false } = engine;
  /** What one replica was silent about, another one may answer. */
  const twice = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !isSilence(error)) throw error;
      return await ask();
    }
  };
  const countTokens: EmbeddingEngine["countTokens"] = (...asked) =>
    twice(() => engine.countTokens(...asked));
  const embed: EmbeddingEngine["embed"] = (...asked) => twice(() => engine.embed(...asked));
  const prove = async (): Promise<void> => {
    await countTokens([plainText], { signal });
    await embed([plainText], { signal });
  };
  if (hasWaited) await prove().catch((error: unknown) => Promise.reject(away(error)));

  const blame = async (error: unknown): Promise<unknown> => {
    if (!(error instanceof NodeError) || error.kind === "internal") return error;
    if (engine.maxTokens < maxTokens) return cutAgain(engine.maxTokens, error);
    const isThere = await prove().then(
      () => true,
      () => false,
    );
    const isAtText = hasWaited || isThere;
    // A server that the document ended is away, and was there just before; one that was silent cost much time.
    const isGrave = isAtText && (isSilence(error) || (isBroken(error) && !isThere));
    if (isGrave) return failed(error);
    // A proxy's word for a server that the document ended, or one that is busy; little speaks against the document.
    if (!isThere)
      return hasWaited && error.kind === "unavailable" ? new RefusedText(error) : away(error);
    if (isBroken(error)) return new RefusedText(failed(error));
    return isOfServer(error) ? new RefusedText(error) : error;
  };
  const judged = async <Result>(asked: Promise<Result>): Promise<Result> => {
    try {
      return await asked;
    } catch (error) {
      throw signal.aborted ? error : await blame(error);
    }
  };
  return {
    ...{ dimension, maxTokens, vocabularySize, tokenizer, estimatesTokens },
    countTokens: (...asked) => judged(countTokens(...asked)),
    embed: (...asked) => judged(embed(...asked)),
  };
}

/** Its passages were cut for a server that was started again meanwhile. */
const cutAgain = (maxTokens: number, cause: NodeError): NodeError => {
  const why = `The embedding model takes at most ${maxTokens} tokens now. The file is cut again.`;
  return new NodeError("unavailable", why, { cause });
};

const away = (error: unknown): unknown =>
  error instanceof NodeError && error.kind !== "internal" && !isPassing(error)
    ? new NodeError("unavailable", error.message, { cause: error })
    : error;

const failed = (error: NodeError): NodeError =>
  new NodeError("upstream_failed", error.message, { cause: error });

/** Whether the answer speaks of the server rather than of what it was asked. */
const isOfServer = (error: NodeError): boolean =>
  isPassing(error) || error.kind === "upstream_failed" || error.kind === "upstream_refused";

/** Whether the server broke off, or its proxy says so (502); a refusal such as 503 has no cause. */
const isBroken = ({ kind, cause }: NodeError): boolean =>
  cause !== undefined && (kind === "unavailable" || kind === "upstream_failed");

const isSilence = (error: unknown): boolean =>
  error instanceof NodeError && error.kind === "timeout";

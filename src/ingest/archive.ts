/** Exports and imports collections as JSON lines: a header with the embedding model, then one passage per line. */
import { toUnitLength } from "../core/embedding/embedding-service.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type {
  CollectionDescription,
  EmbeddedPassage,
  EmbeddingIdentity,
  PassageRepository,
} from "../core/ports/passage-repository.ts";
import { chunk } from "./chunk.ts";
import { digest, type PassageToStore, passageId, usualSizes } from "./passages.ts";
import { embedMissing } from "./pipeline.ts";

const format = 1;

export function toHeaderLine({ name, dimension, embedding }: CollectionDescription): string {
  return JSON.stringify({ paddock_collection: format, name, dimension, embedding });
}

export function toLine({ vector, documentHash, ...passage }: EmbeddedPassage): string {
  const { buffer, byteOffset, byteLength } = vector;
  return JSON.stringify({
    ...passage,
    document_hash: documentHash,
    vector: Buffer.from(buffer, byteOffset, byteLength).toString("base64"),
  });
}

export interface Archive {
  embedding: EmbeddingIdentity | undefined;
  passages: AsyncIterable<PassageToStore>;
}

/** Reads an archive line by line. A line needs a `source`; other missing fields are filled in. */
export async function readArchive(lines: AsyncIterable<string>): Promise<Archive> {
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  const header = first.done === true ? undefined : toHeader(parse(first.value, 1));
  const rest = async function* (): AsyncGenerator<PassageToStore> {
    const occurrences = new Map<string, number>();
    let number = 1;
    for (let next = first; next.done !== true; next = await iterator.next(), number++) {
      const isHeader = number === 1 && header !== undefined;
      if (isHeader || next.value.trim() === "") continue;
      yield toPassage(parse(next.value, number), number, occurrences);
    }
  };
  return { embedding: header?.embedding, passages: rest() };
}

type Fields = Record<string, unknown>;

function parse(line: string, number: number): Fields {
  try {
    const value: unknown = JSON.parse(line);
    if (isFields(value)) return value;
  } catch {}
  throw unreadable(number, "is not a JSON object");
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function toHeader(fields: Fields): { embedding: EmbeddingIdentity | undefined } | undefined {
  const { paddock_collection: version, embedding } = fields;
  if (version === undefined) return undefined;
  if (version !== format) {
    throw unreadable(1, `is of format ${String(version)}, which this Paddock does not know`);
  }
  if (!isFields(embedding)) return { embedding: undefined };
  return {
    embedding: {
      model: text(embedding.model),
      fingerprint: text(embedding.fingerprint),
      queryPrefix: text(embedding.queryPrefix),
      documentPrefix: text(embedding.documentPrefix),
    },
  };
}

function toPassage(
  fields: Fields,
  number: number,
  occurrences: Map<string, number>,
): PassageToStore {
  const { source, id, vector } = fields;
  if (typeof source !== "string" || source.trim() === "") {
    throw unreadable(number, "has no text under 'source'");
  }
  const document = text(fields.document);
  const hash = text(fields.hash) || digest("", source);
  const key = `${document}\n${hash}`;
  const occurrence = occurrences.get(key) ?? 0;
  occurrences.set(key, occurrence + 1);
  const numbers = vector === undefined ? undefined : toVector(vector);
  if (vector !== undefined && numbers === undefined) {
    throw unreadable(number, "has a 'vector' that is neither numbers nor base64");
  }
  return {
    id: typeof id === "string" && uuid.test(id) ? id : passageId(document, hash, occurrence),
    source,
    document,
    heading: text(fields.heading),
    position: count(fields.position),
    hash,
    documentHash: text(fields.document_hash),
    parts: count(fields.parts),
    ...given({ vector: numbers }),
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function toVector(value: unknown): Float32Array | undefined {
  if (typeof value === "string") {
    const bytes = Uint8Array.from(Buffer.from(value, "base64"));
    return bytes.length % 4 === 0 ? new Float32Array(bytes.buffer) : undefined;
  }
  if (!Array.isArray(value)) return undefined;
  return value.every((number) => typeof number === "number") ? Float32Array.from(value) : undefined;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const count = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;

const unreadable = (number: number, why: string): NodeError =>
  new NodeError("invalid_request", `Line ${number} ${why}.`);

/** A thousand times longer than a passage with its vector. */
const longestLine = 16 << 20;

export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  longest = longestLine,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let number = 1;
  let pieces: string[] = [];
  let length = 0;
  for await (const bytes of stream) {
    const [first = "", ...rest] = decoder.decode(bytes, { stream: true }).split("\n");
    pieces.push(first);
    length += first.length;
    for (const next of rest) {
      yield withoutReturn(pieces.join(""));
      number += 1;
      pieces = [next];
      length = next.length;
    }
    if (length > longest) {
      throw unreadable(number, `is longer than ${longest} characters; write one passage a line`);
    }
  }
  const last = pieces.join("") + decoder.decode();
  if (last !== "") yield withoutReturn(last);
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

/** Passages that are read, embedded and stored at a time. */
const batchSize = 128;

export async function* inBatches<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

export interface TransferOptions {
  repository: PassageRepository;
  signal: AbortSignal;
  /** Called with the number of stored passages after each batch. */
  onStored: (count: number) => void;
  /** Computes vectors; absent if every passage has one. */
  embed?: (passages: readonly PassageToStore[]) => Promise<EmbeddedPassage[]>;
}

/** Stores all passages; returns how many. Storing them again changes nothing. */
export async function transfer(
  passages: AsyncIterable<PassageToStore>,
  { repository, signal, onStored, embed = withVectors }: TransferOptions,
): Promise<number> {
  let stored = 0;
  for await (const batch of inBatches(passages)) {
    signal.throwIfAborted();
    const embedded = await embed(batch);
    await repository.upsert(embedded);
    stored += embedded.length;
    onStored(stored);
  }
  return stored;
}

async function withVectors(passages: readonly PassageToStore[]): Promise<EmbeddedPassage[]> {
  return passages.flatMap(({ vector, ...passage }) =>
    vector === undefined ? [] : [{ ...passage, vector: ofUnitLength(vector) }],
  );
}

/** A vector of unit length is returned unchanged, to the bit. */
function ofUnitLength(vector: Float32Array): Float32Array {
  return Math.abs(Math.hypot(...vector) - 1) < 1e-4 ? vector : toUnitLength(vector);
}

export interface EmbedOptions {
  documentPrefix: string;
  /** Whether to keep the passages' vectors, because they are the model's own. */
  keepVectors: boolean;
  signal: AbortSignal;
  /** Called with how many passages had to be cut, or left out since the model can read nothing in them. */
  onChange: (change: "cut" | "left out") => void;
}

/** Embeds passages; one that is too long for the model becomes several. */
export function embedWith(
  engine: EmbeddingEngine,
  { documentPrefix, keepVectors, signal, onChange }: EmbedOptions,
): NonNullable<TransferOptions["embed"]> {
  const fitting = async ({ vector, ...passage }: PassageToStore): Promise<PassageToStore[]> => {
    if (keepVectors && vector?.length === engine.dimension) {
      return [{ ...passage, vector: ofUnitLength(vector) }];
    }
    const [own = 0, tokens = 0] = await engine.countTokens([
      passage.source,
      documentPrefix + passage.source,
    ]);
    if (own === 0) {
      onChange("left out");
      return [];
    }
    if (tokens <= engine.maxTokens) return [passage];
    onChange("cut");
    const chunks = await chunk([passage.source], {
      ...usualSizes(engine),
      countTokens: (texts) => engine.countTokens(texts.map((text) => documentPrefix + text)),
    });
    return chunks.map(({ source }, at) => {
      const hash = digest(documentPrefix, source);
      return { ...passage, id: passageId(passage.id, hash, at), source, hash };
    });
  };
  return async (passages) => {
    const fit = (await Promise.all(passages.map(fitting))).flat();
    return await embedMissing(fit, { engine, documentPrefix, signal });
  };
}

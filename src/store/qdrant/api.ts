/**
 * The calls of Qdrant's API that the node makes. Its client library is not used: it reads answers of
 * any size, follows redirects, and parses numbers one by one; see docs/decisions.
 */
import type { Schemas } from "@qdrant/js-client-rest";
import { checkedKey, qdrantAddress } from "./address.ts";

export interface ApiOptions {
  url: string;
  apiKey: string;
  timeoutMs: number;
}

interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: object;
  /** The most bytes that its answer can have. */
  mostBytes?: number;
}

const kilobyte = 1 << 10;
const megabyte = 1 << 20;

/** An acknowledgement, a count, an error. */
const shortAnswer = 64 * kilobyte;
const descriptionAnswer = megabyte;
/** A hundred thousand names of collections, and more. */
const listAnswer = 16 * megabyte;
/** Of a page of points, however many were asked for. */
const mostAnswer = 64 * megabyte;
/** A number of a vector in JSON: `-0.012345678901234567,` */
const bytesOfValue = 32;

/** The most bytes of an answer with so many points; some of them may be far larger than most. */
export const bytesOfPoints = (
  points: number,
  { dimension = 0, text = 64 * kilobyte }: { dimension?: number; text?: number } = {},
): number => Math.min(mostAnswer, megabyte + points * (text + dimension * bytesOfValue));

export class QdrantApi {
  readonly #address: string;
  readonly #timeoutMs: number;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ url, apiKey, timeoutMs }: ApiOptions) {
    this.#address = qdrantAddress(url);
    this.#timeoutMs = timeoutMs;
    this.#headers = {
      // Qdrant sends compressed answers in pieces, and its last piece waits for the delayed
      // acknowledgement of those before: 44 ms a search instead of one.
      "accept-encoding": "identity",
      "content-type": "application/json",
      ...(apiKey !== "" && { "api-key": checkedKey(apiKey) }),
    };
  }

  async version(): Promise<string> {
    const found = await this.#answer({ method: "GET", path: "/" });
    return textIn(field(found, "version"), 64) ?? "of an unknown version";
  }

  collections(): Promise<Schemas["CollectionsResponse"]> {
    return this.#result({ method: "GET", path: "/collections", mostBytes: listAnswer });
  }

  collection(name: string): Promise<Schemas["CollectionInfo"]> {
    return this.#result({ method: "GET", path: pathOf(name), mostBytes: descriptionAnswer });
  }

  createCollection(name: string, body: Schemas["CreateCollection"]): Promise<boolean> {
    return this.#result({ method: "PUT", path: pathOf(name), body });
  }

  updateCollection(name: string, body: Schemas["UpdateCollection"]): Promise<boolean> {
    return this.#result({ method: "PATCH", path: pathOf(name), body });
  }

  deleteCollection(name: string): Promise<boolean> {
    return this.#result({ method: "DELETE", path: pathOf(name) });
  }

  createIndex(name: string, body: Schemas["CreateFieldIndex"]): Promise<Acknowledgement> {
    return this.#result({ method: "PUT", path: `${pathOf(name)}/index${waiting}`, body });
  }

  count(name: string, body: Schemas["CountRequest"]): Promise<Schemas["CountResult"]> {
    return this.#result({ method: "POST", path: `${pathOf(name)}/points/count`, body });
  }

  scroll(
    name: string,
    body: Schemas["ScrollRequest"],
    mostBytes: number,
  ): Promise<Schemas["ScrollResult"]> {
    return this.#result({ method: "POST", path: `${pathOf(name)}/points/scroll`, body, mostBytes });
  }

  points(
    name: string,
    body: Schemas["PointRequest"],
    mostBytes: number,
  ): Promise<Schemas["Record"][]> {
    return this.#result({ method: "POST", path: `${pathOf(name)}/points`, body, mostBytes });
  }

  query(
    name: string,
    body: Schemas["QueryRequest"],
    mostBytes: number,
  ): Promise<Schemas["QueryResponse"]> {
    return this.#result({ method: "POST", path: `${pathOf(name)}/points/query`, body, mostBytes });
  }

  queryAll(
    name: string,
    body: Schemas["QueryRequestBatch"],
    mostBytes: number,
  ): Promise<Schemas["QueryResponse"][]> {
    const path = `${pathOf(name)}/points/query/batch`;
    return this.#result({ method: "POST", path, body, mostBytes });
  }

  upsert(name: string, body: { points: Schemas["PointStruct"][] }): Promise<Acknowledgement> {
    return this.#result({ method: "PUT", path: `${pathOf(name)}/points${waiting}`, body });
  }

  updateVectors(name: string, body: Schemas["UpdateVectors"]): Promise<Acknowledgement> {
    return this.#result({ method: "PUT", path: `${pathOf(name)}/points/vectors${waiting}`, body });
  }

  deletePoints(name: string, filter: Schemas["Filter"]): Promise<Acknowledgement> {
    const path = `${pathOf(name)}/points/delete${waiting}`;
    return this.#result({ method: "POST", path, body: { filter } });
  }

  /** What it is, the caller checks: nothing that comes from a server is taken for granted. */
  async #result<Result>(call: Call): Promise<Result> {
    const { result } = Object(await this.#answer(call));
    if (result === undefined || result === null) throw new Error("it has no result");
    return result;
  }

  async #answer({ method, path, body, mostBytes = shortAnswer }: Call): Promise<unknown> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), this.#timeoutMs);
    try {
      const response = await fetch(`${this.#address}${path}`, {
        method,
        headers: this.#headers,
        ...(body !== undefined && { body: toJson(body) }),
        redirect: "manual",
        decompress: false,
        signal: controller.signal,
      });
      const text = await readText(response, response.ok ? mostBytes : shortAnswer);
      if (response.ok) return JSON.parse(withLongIds(text));
      throw new Refusal(response.status, reasonIn(text));
    } catch (error) {
      const isLate = controller.signal.aborted;
      // The rest of the answer is not wanted.
      controller.abort();
      throw isLate ? new TimedOut() : error;
    } finally {
      clearTimeout(timer);
    }
  }
}

type Acknowledgement = Schemas["UpdateResult"];

const pathOf = (collection: string): string => `/collections/${encodeURIComponent(collection)}`;

/** A change is acknowledged when it is done. */
const waiting = "?wait=true";

/** The server took longer than it may. */
export class TimedOut extends Error {
  override readonly name = "TimedOut";
}

/** A status that is not a success. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  /** `reason`: Qdrant's own; undefined if something else answered, such as a proxy. */
  constructor(
    readonly status: number,
    readonly reason: string | undefined,
  ) {
    super(reason ?? `status ${status}`);
  }
}

/** An answer that is larger than any to what was asked. */
export class TooLarge extends Error {
  override readonly name = "TooLarge";

  constructor(readonly mostBytes: number) {
    super(`more than ${mostBytes} bytes`);
  }
}

/** Qdrant refuses JSON with half of a character of two, which a text that was cut may have. */
function toJson(body: object): string {
  const json = JSON.stringify(body);
  if (!/\\ud[89a-f]/.test(json)) return json;
  const whole = (_: string, value: unknown): unknown =>
    typeof value === "string" ? value.toWellFormed() : value;
  return JSON.stringify(body, whole);
}

async function readText({ headers, body }: Response, mostBytes: number): Promise<string> {
  if (Number(headers.get("content-length") ?? 0) > mostBytes) throw new TooLarge(mostBytes);
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let length = 0;
  for await (const bytes of body ?? []) {
    length += bytes.length;
    if (length > mostBytes) throw new TooLarge(mostBytes);
    pieces.push(decoder.decode(bytes, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}

/** Ids have up to 64 bits, and JavaScript's numbers 53: longer ones are read as texts. No text has this in it, as quotes in texts are escaped. */
const withLongIds = (json: string): string =>
  json.replace(/("(?:id|next_page_offset)":\s*)(\d{16,})/g, '$1"$2"');

const longestReason = 300;

/** `{ status: { error: "…" } }` */
function reasonIn(body: string): string | undefined {
  try {
    return textIn(field(field(JSON.parse(body), "status"), "error"), longestReason);
  } catch {
    return undefined;
  }
}

/** A text of the server's, for a person: short and printable. */
function textIn(value: unknown, longest: number): string | undefined {
  if (typeof value !== "string") return undefined;
  return value.slice(0, longest).replace(/\p{C}+/gu, " ");
}

export function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

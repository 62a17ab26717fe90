/** Reads `multipart/form-data` as a stream: a few short fields, and one file, chunk by chunk. */

import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { onAbort, untilAborted } from "../../core/abort.ts";
import { byteSize } from "../../core/byte-size.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { quoted } from "../../core/quoted.ts";
import { nextTurn } from "../../core/turns.ts";
import { checkEncoding, mostInTurn } from "./read-body.ts";

export interface UploadLimits {
  maxFileBytes: number;
  /** The longest pause in an upload. */
  bodyTimeoutMs: number;
}

interface UploadedPart {
  /** The client's name for it, without a path; empty if it sent none. */
  filename: string;
  bytes: AsyncIterable<Uint8Array>;
}

interface ReadForm<Received> {
  fields: ReadonlyMap<string, string>;
  received?: Received;
}

const most = { fields: 16, parts: 24, fieldSize: 16_384, headerPairs: 32, headerSize: 8192 };
const envelope = 1 << 20;

export class UploadForm implements Disposable {
  readonly #request: Request;
  readonly #context: { signal: AbortSignal };
  readonly #limits: UploadLimits;
  #stop = (): void => {};

  constructor(request: Request, context: { signal: AbortSignal }, limits: UploadLimits) {
    this.#request = request;
    this.#context = context;
    this.#limits = limits;
  }

  /**
   * Reads the form to its end. `receive` gets the file in the field `name`, which may come before
   * the fields that describe it. If the form is rejected, the stream for `receive` fails too.
   */
  async read<Received>(
    name: string,
    receive: (part: UploadedPart) => Promise<Received>,
  ): Promise<ReadForm<Received>> {
    const form = this.#parser();
    const fields = new Map<string, string>();
    const failure = new AbortController();
    let receiving: Promise<Received> | undefined;
    let cut = (_reason: unknown): void => {};
    const fail = (error: unknown): void => {
      failure.abort(error);
      cut(error);
    };
    using _ = onAbort(this.#context.signal, () => fail(this.#context.signal.reason));
    if (this.#context.signal.aborted) fail(this.#context.signal.reason);
    form.on("field", (field, value, _nameCut, isCut) => {
      if (isCut) fail(refuse(field, `is longer than ${most.fieldSize} bytes`));
      else if (fields.has(field)) fail(refuse(field, "is there more than once"));
      else fields.set(field, value);
    });
    form.on("file", (field, stream, filename) => {
      if (field !== name) {
        stream.resume();
        fail(refuse(field, `is a file; the file belongs into the field '${name}'`));
        return;
      }
      cut = (reason) => stream.destroy(toError(reason));
      // The consumer gets the error; without a listener it would end the process.
      stream.on("error", () => {});
      receiving = receive({ filename: filename ?? "", bytes: this.#bounded(stream, name) });
      receiving.catch(fail);
    });
    form.on("filesLimit", () => fail(refuse(name, "is there more than once: one file a request")));
    const tooMany = (): void => fail(malformed(`has more than ${most.fields} fields`));
    form.on("fieldsLimit", tooMany).on("partsLimit", tooMany);
    const { promise: finished, resolve } = Promise.withResolvers<void>();
    form.on("finish", () => resolve());
    form.on("error", (error) => fail(malformed(`cannot be read: ${reasonOf(error)}`)));
    try {
      await this.#pump(form, failure.signal);
      await untilAborted(Promise.race([finished, stuck(receiving)]), failure.signal);
      return receiving === undefined
        ? { fields }
        : { fields, received: await untilAborted(receiving, failure.signal) };
    } catch (error) {
      fail(error);
      // Fails only after the partial file has been removed.
      await receiving?.catch(() => {});
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #parser(): BusboyInstance {
    const { headers } = this.#request;
    checkEncoding(this.#request);
    const type = headers.get("content-type") ?? "";
    if (!/^multipart\/form-data\s*;/i.test(type)) {
      throw new NodeError(
        "unsupported_media_type",
        `The body must be a form, sent with 'Content-Type: multipart/form-data; boundary=…'; found ${type === "" ? "no content type" : quoted(type)}.`,
      );
    }
    const { maxFileBytes } = this.#limits;
    if (Number(headers.get("content-length") ?? 0) > maxFileBytes + envelope) {
      throw tooLarge(maxFileBytes);
    }
    try {
      return new Busboy({ headers: { "content-type": type }, limits: { ...most, files: 1 } });
    } catch (cause) {
      throw malformed(`cannot be read: ${reasonOf(cause)}`);
    }
  }

  /** Feeds the parser with backpressure: the sender waits while the disk is slow. */
  async #pump(form: BusboyInstance, failure: AbortSignal): Promise<void> {
    const { body } = this.#request;
    const { maxFileBytes, bodyTimeoutMs } = this.#limits;
    if (body === null) throw malformed("is empty");
    const reader = body.getReader();
    this.#stop = () => void reader.cancel().catch(() => {});
    let bytes = 0;
    for (let read = 1; ; read++) {
      if (read % mostInTurn === 0) await nextTurn();
      const { done, value } = await inTime(reader.read(), failure, bodyTimeoutMs);
      if (done) break;
      bytes += value.length;
      if (bytes > maxFileBytes + envelope) throw tooLarge(maxFileBytes);
      if (form.write(value)) continue;
      await untilAborted(new Promise((resolve) => form.once("drain", resolve)), failure);
    }
    form.end();
  }

  async *#bounded(stream: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
    const { maxFileBytes } = this.#limits;
    let bytes = 0;
    for await (const piece of stream) {
      bytes += piece.length;
      if (bytes > maxFileBytes) throw tooLarge(maxFileBytes, name);
      yield piece;
    }
  }
}

/** Turns of the event loop that the parser has to finish; it needs two or three. */
const turns = 100;

/** Fails if the parser has all input but waits for the rest of a part whose header does not end. */
async function stuck(receiving: Promise<unknown> | undefined): Promise<never> {
  await receiving;
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  throw malformed("has a part whose header does not end with an empty line");
}

/** The next chunk; fails if none comes within `ms`. */
async function inTime<Value>(
  next: Promise<Value>,
  failure: AbortSignal,
  ms: number,
): Promise<Value> {
  const late = new AbortController();
  const paused = `Nothing of the upload came for ${ms / 1000} s, which is as long as this node waits (limits.body_timeout).`;
  const timer = setTimeout(() => late.abort(new NodeError("body_timeout", paused)), ms);
  try {
    return await untilAborted(untilAborted(next, late.signal), failure);
  } finally {
    clearTimeout(timer);
  }
}

const toError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new Error(String(reason));

const tooLarge = (bytes: number, param?: string): NodeError =>
  new NodeError(
    "payload_too_large",
    `The file is larger than the ${byteSize(bytes)} that this node takes (documents.max_file_bytes).`,
    given({ param }),
  );

const malformed = (why: string): NodeError => new NodeError("invalid_request", `The form ${why}.`);

const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `${quoted(param)} ${why}.`, { param });

/** The node's log on standard error: pretty on a terminal, else JSON lines. */
import { constants, fstatSync, openSync } from "node:fs";
import pino from "pino";
import { prettyFactory } from "pino-pretty";
import type { Config } from "../config/schema.ts";
import type { Log, LogFields } from "../core/log.ts";
import { tellOfLogs } from "../store/foreign-log.ts";
import { printable } from "./printing.ts";

const standardError = 2;
/** Bytes that are held for a reader who is behind; what comes after is lost. */
const mostHeld = 1024 * 1024;
const retryMs = 100;

export interface LevelledLog extends Log {
  setLevel(level: string): void;
}

/** `waits`: for who reads it, rather than lose a line. */
export function createLog(level: string, isTerminal: boolean, waits = false): LevelledLog {
  const destination = waits
    ? // A full disk does not end it.
      pino.destination({ fd: standardError, sync: true }).on("error", () => {})
    : impatient((lines) =>
        at("warn")("lines of the log were lost: standard error took no more", { lines }),
      );
  const pretty = prettyFactory({ ignore: "pid,hostname" });
  const logger = pino(
    { level, base: null, serializers: { error: (error: unknown) => printed(errorFields(error)) } },
    isTerminal ? { write: (line) => destination.write(pretty(line)) } : destination,
  );
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](printed(fields), printable(message));
  tellOfLogs((notice) => at("warn")(notice));
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    setLevel: (next) => {
      logger.level = next;
    },
  };
}

/** Does not wait while a pipe is full that nobody reads, or the disk of a file: every request would wait too. */
function impatient(onLost: (lines: number) => void) {
  const destination = pino.destination({
    fd: ownOpening(),
    sync: true,
    maxLength: mostHeld,
    retryEAGAIN: () => false,
  });
  // Pino's own is silent for good once nobody has a pipe open; a named one may have a reader again.
  destination.removeAllListeners("error");
  let lost = 0;
  let isWaiting = false;
  destination.on("drop", () => {
    lost++;
  });
  destination.on("error", () => {
    if (isWaiting) return;
    isWaiting = true;
    // Not unref'ed: a node that ends is given a moment in which its last lines may be read.
    setTimeout(() => {
      isWaiting = false;
      destination.write("");
    }, retryMs);
  });
  destination.on("drain", () => {
    const lines = lost;
    lost = 0;
    if (lines > 0) onLost(lines);
  });
  return destination;
}

/** A pipe is opened once more: a program that shares it, as Node.js does, may let all who write to it wait. */
function ownOpening(): number {
  try {
    if (fstatSync(standardError).isFIFO()) {
      const flags = constants.O_WRONLY | constants.O_NONBLOCK;
      return openSync(`/proc/self/fd/${standardError}`, flags);
    }
  } catch {
    // Only Linux has this path, and the pipe may belong to another user.
  }
  return standardError;
}

/** For commands other than `serve`: they print what they do, so `info` is raised to `warn`, and nobody else waits for them. */
export function createCommandLog({ log_level: level }: Config, isTerminal: boolean): Log {
  return createLog(level === "info" ? "warn" : level, isTerminal, true);
}

/** Makes all strings printable: fields contain names from callers and files. */
function printed(value: unknown): unknown {
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value)) return value.map(printed);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, printed(field)]));
}

/** Errors and class instances are left to the serializers. */
const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** An error in the log: what happened and where, without anything that a caller sent. */
export interface ErrorFields {
  type: string;
  message: string;
  stack: string[];
  cause?: ErrorFields | string;
}

const longest = 500;
const mostCauses = 5;

/** Other fields of errors are omitted: libraries put requests, answers and headers there. */
export function errorFields(error: unknown, depth = 0): ErrorFields | string {
  if (!(error instanceof Error)) return `thrown: ${typeof error}`;
  const { cause } = error;
  return {
    type: error.name,
    message: messageOf(error),
    stack: framesOf(error),
    ...(cause === undefined || depth === mostCauses
      ? {}
      : { cause: errorFields(cause, depth + 1) }),
  };
}

/** Hides the text that a parser quotes, which may be private. */
function messageOf(error: Error): string {
  const message =
    error instanceof SyntaxError
      ? error.message.replace(/(["'`]).*\1/gs, "(not shown)")
      : error.message;
  return message.length > longest ? `${message.slice(0, longest)}…` : message;
}

const framesOf = ({ stack = "" }: Error): string[] =>
  stack
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "));

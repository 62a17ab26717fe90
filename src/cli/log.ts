/** The node's log on standard error: pretty on a terminal, else JSON lines. */
import pino from "pino";
import pretty from "pino-pretty";
import type { Config } from "../config/schema.ts";
import type { Log, LogFields } from "../core/log.ts";
import { printable } from "./printing.ts";

const standardError = 2;

export interface LevelledLog extends Log {
  /** How much is written from now on. */
  setLevel(level: string): void;
}

export function createLog(level: string, isTerminal: boolean): LevelledLog {
  const destination = isTerminal
    ? pretty({ destination: standardError, sync: true, ignore: "pid,hostname" })
    : pino.destination({ fd: standardError, sync: true });
  const logger = pino(
    { level, base: null, serializers: { error: (error: unknown) => printed(errorFields(error)) } },
    destination,
  );
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](printed(fields), printable(message));
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

/** For a command that serves nobody: it prints what it does, so its log says only what is wrong, unless more is wanted. */
export function createCommandLog({ log_level: level }: Config, isTerminal: boolean): Log {
  return createLog(level === "info" ? "warn" : level, isTerminal);
}

/** The fields with every text in them printable: they name what callers and files are called. */
function printed(value: unknown): unknown {
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value)) return value.map(printed);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, printed(field)]));
}

/** Errors and the like are for the serializers. */
const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** An error as the log shows it: what happened and where, and nothing that a caller sent. */
export interface ErrorFields {
  type: string;
  message: string;
  stack: string[];
  cause?: ErrorFields | string;
}

const longest = 500;
const mostCauses = 5;

/** Other fields of errors are left out: libraries put requests, answers and headers there. */
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

/** A parser quotes the text that it could not read, which is somebody's. */
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

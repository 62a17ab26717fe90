/** The node's log on standard error: pretty on a terminal, JSON lines elsewhere. */
import pino from "pino";
import pretty from "pino-pretty";
import type { Config } from "../config/schema.ts";
import type { Log, LogFields } from "../core/log.ts";
import { errorFields } from "./error-fields.ts";
import { printable } from "./printable.ts";

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

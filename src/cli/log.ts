/** The node's log on standard error: pretty on a terminal, JSON lines elsewhere. */
import pino from "pino";
import pretty from "pino-pretty";
import type { Log, LogFields } from "../core/log.ts";
import { errorFields } from "./error-fields.ts";

const standardError = 2;

export function createLog(level: string, isTerminal: boolean): Log {
  const destination = isTerminal
    ? pretty({ destination: standardError, sync: true, ignore: "pid,hostname" })
    : pino.destination({ fd: standardError, sync: true });
  const logger = pino(
    { level, base: null, serializers: { error: (error: unknown) => errorFields(error) } },
    destination,
  );
  const at =
    (name: "debug" | "info" | "warn" | "error") =>
    (message: string, fields: LogFields = {}): void =>
      logger[name](fields, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A log that keeps its lines for a test to read. */
import type { Log, LogFields } from "../../src/core/log.ts";

export interface LogLine {
  level: keyof Log;
  message: string;
  fields: LogFields;
}

export function recordingLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields });
    };
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { log, lines };
}

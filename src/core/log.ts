/** Port: the node's log. */

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ignore = (): void => {};

/** Discards everything, for messages that are logged by other code or not needed. */
export const noLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

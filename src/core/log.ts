/** The log of the node; what writes it belongs to the process. */

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const ignore = (): void => {};

/** For what somebody else says, or nobody needs to hear. */
export const noLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

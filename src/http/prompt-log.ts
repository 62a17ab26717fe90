/** What is asked and answered, in the log; only where the operator wants it there. */
import type { Log } from "../core/log.ts";
import { requestIdHeader } from "./request-id.ts";

type Headers = Readonly<Record<string, string | number>>;

export class PromptLog {
  readonly #log: Log | undefined;

  /** Without a log nothing is written. */
  constructor(log?: Log) {
    this.#log = log;
  }

  get isOn(): boolean {
    return this.#log !== undefined;
  }

  asked(headers: Headers, prompt: object): void {
    this.#log?.info("a prompt", { id: headers[requestIdHeader], ...prompt });
  }

  answered(headers: Headers, answer: object): void {
    this.#log?.info("an answer", { id: headers[requestIdHeader], ...answer });
  }
}

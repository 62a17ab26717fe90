/** What the parts of one completion share, of chat and of prompts, and how its chunks are written. */
import { Type as T } from "@sinclair/typebox";
import type { Usage } from "./usage.ts";

/** Each API puts its own id and object before these. */
export const headFields = {
  created: T.Integer({ description: "Unix time in seconds." }),
  model: T.String(),
  system_fingerprint: T.String({
    pattern: "^fp_[0-9a-f]+$",
    description: "Changes only when the weights, the engine's build or the model's settings do.",
  }),
};

/** Writes chunks as JSON. With the usage in a last chunk of its own, the others say that theirs is null. */
export class ChunkWriter<Choice extends object> {
  /** Everything but the choices is the same in every chunk: it is serialised once. */
  readonly #start: string;
  readonly #end: string;

  constructor(head: object, includeUsage: boolean) {
    this.#start = JSON.stringify(head).slice(0, -1);
    this.#end = includeUsage ? ',"usage":null' : "";
  }

  /** `more`: fields that only this chunk has. */
  choice(choice: Choice, more?: object): string {
    return `${this.#start},"choices":[${JSON.stringify(choice)}]${this.#end}${fields(more)}}`;
  }

  usage(usage: Usage, more?: object): string {
    return `${this.#start},"choices":[]${fields({ usage, ...more })}}`;
  }
}

const fields = (more: object | undefined): string =>
  more === undefined
    ? ""
    : Object.entries(more)
        .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
        .join("");

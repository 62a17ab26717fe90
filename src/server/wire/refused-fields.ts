/** Fields that are refused by name: an answer without them would be another one than the one asked for. */
import { refuse } from "./refuse.ts";

interface RefusedOptions {
  /** Where the fields stand: `messages[0]`. */
  at?: string;
  /** Whether a value asks for nothing; null never asks for anything. */
  isAbsent?: (value: unknown) => boolean;
}

/** `refused`: why, by the name of the field. A field that is null counts as absent. */
export function refuseFields(
  value: object,
  refused: ReadonlyMap<string, string>,
  { at, isAbsent = () => false }: RefusedOptions = {},
): void {
  for (const [name, content] of Object.entries(value)) {
    const why = refused.get(name);
    if (why === undefined || content === null || isAbsent(content)) continue;
    throw refuse(at === undefined ? name : `${at}.${name}`, why);
  }
}

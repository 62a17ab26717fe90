/** Documents to search, for a thread. */
import type { DocumentSelection } from "../core/ports/passage-repository.ts";

/** Only those, or all but those; as JSON of their names, which crosses to a thread fastest. */
export interface DocumentNames {
  isOnly: boolean;
  names: string;
}

/** Undefined: all. */
export function namesOf(documents: DocumentSelection | undefined): DocumentNames | undefined {
  if (documents === undefined) return undefined;
  const isOnly = "only" in documents;
  const names = isOnly ? documents.only : documents.except;
  return isOnly || names.size > 0 ? { isOnly, names: JSON.stringify([...names]) } : undefined;
}

export const namesIn = ({ names }: DocumentNames): string[] => JSON.parse(names);

/** The text of content that may come in parts, which are joined; what is no text is refused by name. */
import { quoted } from "../../core/quoted.ts";
import { refuse } from "./refuse.ts";

interface Part {
  type: string;
  text?: string;
  refusal?: string;
}

/** What an API calls the types of its parts. */
export interface PartTypes {
  /** Those whose text is read. */
  readable: ReadonlySet<string>;
  /** What the others hold, for a person. */
  names: ReadonlyMap<string, string>;
}

/** `at`: where the content stands. */
export function textOfParts(
  content: string | readonly Part[],
  at: string,
  { readable, names }: PartTypes,
): string {
  if (typeof content === "string") return content;
  return content
    .map(({ type, text, refusal }, index) => {
      const param = `${at}[${index}]`;
      if (type === "refusal" && refusal !== undefined) return refusal;
      if (!readable.has(type)) {
        const what = names.get(type) ?? `parts of type ${quoted(type)}`;
        throw refuse(
          param,
          `has the type ${quoted(type)}: this node's models read text only, no ${what}`,
        );
      }
      if (text === undefined) throw refuse(`${param}.text`, "is required: a string");
      return text;
    })
    .join("");
}

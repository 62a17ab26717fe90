/** The text of an item's content, whose parts are joined; what is no text is refused by name. */
import { Type as T } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import { Part } from "./request-schema.ts";

const partsCheck = TypeCompiler.Compile(T.Array(Part));

/** Whether it is a list of content parts, of whatever type. */
export const isParts = (value: unknown): value is Part[] => partsCheck.Check(value);

const readable = new Set(["input_text", "output_text", "text"]);

const partNames: Readonly<Record<string, string>> = {
  input_image: "images",
  input_audio: "audio",
  input_file: "files; upload it to a vector store and send the tool 'file_search'",
};

/** `param`: where the content stands. */
export function textOf(content: string | readonly Part[], param: string): string {
  if (typeof content === "string") return content;
  return content
    .map(({ type, text, refusal }, index) => {
      const at = `${param}[${index}]`;
      if (type === "refusal" && refusal !== undefined) return refusal;
      if (!readable.has(type)) {
        const what = partNames[type] ?? `parts of type ${quoted(type)}`;
        throw refuse(
          at,
          `has the type ${quoted(type)}: this node's models read text only, no ${what}`,
        );
      }
      if (text === undefined) throw refuse(`${at}.text`, "is required: a string");
      return text;
    })
    .join("");
}

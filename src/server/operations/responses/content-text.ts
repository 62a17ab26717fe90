/** The text of an item's content, whose parts are joined; what is no text is refused by name. */
import { Type as T } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type PartTypes, textOfParts } from "../../wire/text-parts.ts";
import { Part } from "./request-schema.ts";

const partsCheck = TypeCompiler.Compile(T.Array(Part));

/** Whether it is a list of content parts, of whatever type. */
export const isParts = (value: unknown): value is Part[] => partsCheck.Check(value);

const partTypes: PartTypes = {
  readable: new Set(["input_text", "output_text", "text"]),
  names: new Map([
    ["input_image", "images"],
    ["input_audio", "audio"],
    ["input_file", "files; upload it to a vector store and send the tool 'file_search'"],
  ]),
};

/** `at`: where the content stands. */
export const textOf = (content: string | readonly Part[], at: string): string =>
  textOfParts(content, at, partTypes);

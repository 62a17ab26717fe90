/** Errors of the chat service name chat's fields; here they are called otherwise. */
import { NodeError, withField } from "../../../core/errors.ts";

export interface FieldPlaces {
  /** The functions, with where each stands among the request's tools. */
  functions: readonly { at: string }[];
  /** Where the search stands among them. */
  search: { place: number } | undefined;
}

/** The error with this API's names; what is none of the node's own stays as it is. */
export function renameFields(error: unknown, fields: FieldPlaces): unknown {
  if (!(error instanceof NodeError) || error.param === undefined) return error;
  const { message, param } = error;
  const own = ownName(param, fields);
  if (own === param) return error;
  const said = param === "messages" ? message : message.replaceAll(param, own);
  return withField(error, { message: said, param: own });
}

function ownName(param: string, { functions, search }: FieldPlaces): string {
  if (search !== undefined) {
    const stores = /^rag\.(vector_store_ids.*)$/.exec(param)?.[1];
    if (stores !== undefined) return `tools[${search.place}].${stores}`;
  }
  return param
    .replace(/^messages\b/, "input")
    .replace(/^response_format\.json_schema\.schema/, "text.format.schema")
    .replace(/^response_format/, "text.format")
    .replace(/^tools\[(\d+)\]\.function/, (found, at) => functions[Number(at)]?.at ?? found)
    .replace(/^(max_tokens|max_completion_tokens)$/, "max_output_tokens");
}

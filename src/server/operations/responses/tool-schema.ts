/** Tools, which of them is to be called, and the form of the text: the same in requests and responses. */
import { type Static, Type as T } from "@sinclair/typebox";
import { nullable, open } from "../../wire/fields.ts";

const functionFields = {
  name: T.Optional(
    T.String({
      pattern: "^[A-Za-z0-9_-]{1,64}$",
      "x-expected": "1 to 64 letters, digits, '_' or '-'",
      description: "Of a function, or of a namespace.",
    }),
  ),
  description: nullable(T.String(), "What the function does, for the model."),
  parameters: nullable(
    T.Record(T.String(), T.Unknown()),
    "JSON Schema of a function's arguments, which always validate against it. Absent: none.",
  ),
  strict: nullable(
    T.Boolean(),
    "Arguments are held to the schema. False: what of it a grammar cannot hold is let go; else it is refused.",
  ),
};

export const NamespacedTool = T.Object(
  { type: T.String({ description: "`function`." }), ...functionFields },
  open,
);

/** A tool of any type; functions and searches are taken, the rest is left out or refused by name. */
export const ResponseTool = T.Object(
  {
    type: T.String({ description: "`function`, `namespace` or `file_search`." }),
    ...functionFields,
    tools: T.Optional(
      T.Array(NamespacedTool, { maxItems: 128, description: "Of a namespace: its functions." }),
    ),
  },
  open,
);

export type ResponseTool = Static<typeof ResponseTool>;

const AllowedTool = T.Object(
  {
    type: T.String(),
    name: T.Optional(T.String()),
    namespace: T.Optional(T.String()),
  },
  open,
);

/** A choice of any type; what must be in it depends on that, and is checked where it is read. */
const ChosenTool = T.Object(
  {
    type: T.String({ description: "`function`, `file_search` or `allowed_tools`." }),
    name: T.Optional(T.String({ description: "Of the function that is to be called." })),
    namespace: T.Optional(T.String({ description: "The one that the function is in." })),
    mode: T.Optional(
      T.Union([T.Literal("auto"), T.Literal("required")], {
        description: "Of `allowed_tools`: whether one of them must be called.",
      }),
    ),
    tools: T.Optional(
      T.Array(AllowedTool, {
        minItems: 1,
        maxItems: 128,
        description: "Of `allowed_tools`: those that may be called, by type and name.",
      }),
    ),
  },
  open,
);

export const ToolChoice = T.Union(
  [T.Literal("none"), T.Literal("auto"), T.Literal("required"), ChosenTool],
  {
    "x-expected":
      "'none', 'auto', 'required', {type: 'function', name}, {type: 'file_search'} or {type: 'allowed_tools', mode, tools}",
    description: "Whether tools are called, and which.",
  },
);

export type ToolChoice = Static<typeof ToolChoice>;

export const TextFormat = T.Union(
  [
    T.Object({ type: T.Literal("text") }, open),
    T.Object({ type: T.Literal("json_object") }, open),
    T.Object(
      {
        type: T.Literal("json_schema"),
        name: T.Optional(T.String()),
        description: nullable(T.String(), "What the format is for."),
        schema: T.Unknown({ description: "JSON Schema of the text." }),
        strict: nullable(T.Boolean(), "The text is always held to the schema."),
      },
      open,
    ),
  ],
  {
    "x-expected": "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', name, schema}",
    description:
      "The text's form, held by a grammar while it is generated: unless the response is `incomplete`, it parses and validates.",
  },
);

export type TextFormat = Static<typeof TextFormat>;

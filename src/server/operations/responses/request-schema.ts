/** What a response is asked with, on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Metadata } from "../../wire/attributes.ts";
import { nullable, open } from "../../wire/fields.ts";
import { generationExtensions } from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/rag-schema.ts";
import { includeList } from "../../wire/response-include.ts";
import { samplingFields } from "../../wire/sampling.ts";
import { ResponseTool, TextFormat, ToolChoice } from "./tool-schema.ts";

/** A content part of any type; only text is taken, the rest is refused by name. */
export const Part = T.Object(
  {
    type: T.String({ description: "`input_text`, `output_text` or `refusal`." }),
    text: T.Optional(T.String()),
    refusal: T.Optional(T.String()),
  },
  open,
);

export type Part = Static<typeof Part>;

/** An item of any type. What must be in it depends on that, and is checked where it is read. */
export const InputItem = T.Object(
  {
    type: nullable(
      T.String(),
      "`message`, the default, `function_call`, `function_call_output`, `reasoning`, `file_search_call` or `item_reference`.",
    ),
    role: T.Optional(
      T.Union(
        [T.Literal("user"), T.Literal("assistant"), T.Literal("system"), T.Literal("developer")],
        { description: "Of a message. `developer` counts as `system`." },
      ),
    ),
    content: T.Optional(
      T.Union([T.String(), T.Array(Part), T.Null()], {
        "x-expected": "a string or a list of content parts",
        description: "Of a message: text, or a list of text parts that are joined.",
      }),
    ),
    id: nullable(T.String(), "What an `item_reference` refers to; else it is not looked at."),
    call_id: nullable(T.String({ minLength: 1 }), "Of a function's call and its output."),
    name: T.Optional(T.Unknown({ description: "Of a function's call: the function's name." })),
    namespace: nullable(T.String(), "Of a function's call: the namespace that it was offered in."),
    arguments: T.Optional(T.Unknown({ description: "Of a function's call: JSON, as a text." })),
    output: T.Optional(
      T.Unknown({
        description: "Of a function's output: text, or a list of text parts that are joined.",
      }),
    ),
  },
  open,
);

export type InputItem = Static<typeof InputItem>;

export const ResponseRequest = T.Object(
  {
    model: T.String({ minLength: 1, description: "Name of a chat model of this node." }),
    input: T.Optional(
      T.Union([T.String(), T.Array(InputItem)], {
        "x-expected": "a text or a list of items",
        description:
          "What is asked, and required: a text, which counts as a message of the user, or the items of a conversation. No more of them than the node takes: 2048 unless configured.",
      }),
    ),
    instructions: nullable(
      T.String(),
      "What the model is told before the conversation. Those of earlier responses are not carried over.",
    ),
    previous_response_id: nullable(
      T.String({ minLength: 1 }),
      "The response whose conversation this one goes on from.",
    ),
    conversation: nullable(
      T.Union([T.String({ minLength: 1 }), T.Object({ id: T.String({ minLength: 1 }) }, open)], {
        "x-expected": "a conversation's id or {id}",
      }),
      "The conversation that this response goes on from, and that its input and output are added to.",
    ),
    store: nullable(
      T.Boolean(),
      "Whether the response is kept, so that it can be asked for again and gone on from; no longer than the node keeps responses.",
      true,
    ),
    background: nullable(
      T.Boolean(),
      "Answer at once, and make the response behind; `GET /v1/responses/{id}` has it.",
      false,
    ),
    metadata: nullable(Metadata, "Given back as it is."),
    max_output_tokens: nullable(
      T.Integer({ minimum: 1 }),
      "Most tokens of the answer, thoughts included.",
    ),
    max_tool_calls: nullable(
      T.Integer({ minimum: 1 }),
      "Most searches of one response; it never has more than one.",
    ),
    ...samplingFields,
    ...generationExtensions,
    top_logprobs: nullable(
      T.Integer({ minimum: 0, maximum: 20 }),
      "How many of the likeliest tokens to report in each place; needs `message.output_text.logprobs` in `include`.",
      0,
    ),
    include: nullable(
      includeList(),
      "What else the response is to hold: the log probabilities of its tokens, the passages of a search.",
    ),
    text: nullable(
      T.Object({ format: nullable(TextFormat, "The text's form.", { type: "text" }) }, open),
      "The text's form.",
    ),
    tools: nullable(T.Array(ResponseTool, { maxItems: 128 }), "What the model may call."),
    tool_choice: nullable(ToolChoice, "Whether tools are called. Default: `auto`."),
    parallel_tool_calls: nullable(
      T.Boolean(),
      "Whether one answer may call several functions, where the model's template can.",
      true,
    ),
    truncation: nullable(
      T.Union([T.Literal("auto"), T.Literal("disabled")]),
      "`auto`: the oldest messages are left out of a conversation that does not fit the model's context. `disabled`: it is refused.",
      "disabled",
    ),
    rag: ragField,
    stream: nullable(T.Boolean(), "Send the answer in events as it is generated.", false),
    stream_options: nullable(T.Object({}, open), "Options of a stream."),
    reasoning: nullable(T.Object({}, open), "A model thinks as long as it does."),
  },
  open,
);

export type ResponseRequest = Static<typeof ResponseRequest>;

/** What is asked in a request that asks something. */
export type Input = NonNullable<ResponseRequest["input"]>;

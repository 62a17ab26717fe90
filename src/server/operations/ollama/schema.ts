/** Schemas of Ollama's chat and generate requests. */
import { type Static, Type as T } from "@sinclair/typebox";
import * as f from "../../wire/fields.ts";
import { noEffort, Seed, samplingOptions } from "../../wire/generation-fields.ts";
import { ragField } from "../../wire/grounding.ts";
import { FunctionTool } from "../../wire/message-schema.ts";

/** Fields of requests about a model. */
export const named = {
  model: f.nullable(T.String(), "Name of the model."),
  name: f.nullable(T.String(), "Older name of `model`. One of them is required."),
};

const images = f.nullable(
  T.Array(T.String()),
  "PNG, JPEG, WebP or GIF images in base64, each of at most `limits.max_image_bytes`, for a model that reads images. The model sees them before the text.",
);
const writesText = "cannot be honoured: this node's models write text only";
const ofModel = "The node's configuration sets it for each model.";
const ofMachine = "It changes the speed, never the answer.";

/** An empty list or text asks for nothing. */
const unlessEmpty = { unless: (value: unknown) => Array.isArray(value) && value.length === 0 };
const unlessFalse = { unless: (value: unknown) => value === false, except: "`false`" };
const unless = (neutral: number | string) => ({
  unless: (value: unknown) => value === neutral,
  except: `\`${JSON.stringify(neutral)}\``,
});

const configured = "The node's configuration says how long a model stays loaded.";

export const keepAlive = f.ignored(configured);

/** `0` in the forms that a duration may have. */
const nothing = /^[+-]?0*\.?0*(ns|us|µs|ms|s|m|h)?$/;

export const asksToUnload = (keepAlive: unknown): boolean =>
  keepAlive === 0 ||
  (typeof keepAlive === "string" && /0/.test(keepAlive) && nothing.test(keepAlive));

const chatKeepAlive = f.ignored(
  `${configured} Only \`0\` without messages or a prompt is honoured: it unloads the model.`,
  { unless: asksToUnload, except: "`0`" },
);

const Options = f.openObject({
  num_predict: f.nullable(
    f.integer(-2),
    "Most tokens of the answer; it then ends with the reason `length`. Below 1: the model's own limit.",
  ),
  ...samplingOptions,
  seed: f.nullable(
    Seed,
    "The same request with the same seed gets the same answer, if nothing else runs. -1: random.",
  ),
  stop: f.nullable(
    T.Union([f.nonEmpty, T.Array(f.nonEmpty, { maxItems: 32 })]),
    "Up to 32 texts that end the answer and are not part of it.",
  ),
  num_ctx: f.ignored(`${ofModel} \`/api/show\` tells it.`),
  num_keep: f.ignored("Conversations are not shortened; one that is too long is rejected."),
  mirostat: f.ignored("The node has no such sampler.", unless(0)),
  mirostat_tau: f.accepted("It belongs to `mirostat`."),
  mirostat_eta: f.accepted("It belongs to `mirostat`."),
  tfs_z: f.ignored("The node has no such sampler.", unless(1)),
  typical_p: f.ignored("The node has no such sampler.", unless(1)),
  penalize_newline: f.ignored("Penalties hold for every token.", {
    unless: (value) => value === true,
    except: "`true`",
  }),
  num_batch: f.accepted(ofMachine),
  num_gpu: f.accepted(ofMachine),
  main_gpu: f.accepted(ofMachine),
  num_thread: f.accepted(ofMachine),
  numa: f.accepted(ofMachine),
  low_vram: f.accepted(ofMachine),
  use_mmap: f.accepted(ofMachine),
  use_mlock: f.accepted(ofMachine),
  f16_kv: f.ignored(ofModel),
  logits_all: f.accepted("`logprobs` asks for them."),
  vocab_only: f.ignored(ofModel, unlessFalse),
  embedding_only: f.ignored("`/api/embed` is for embeddings.", unlessFalse),
});

const shared = {
  model: T.String({
    minLength: 1,
    description: "Name of a chat model of this node; `:latest` after it changes nothing.",
  }),
  format: f.nullable(
    T.Union([T.Literal("json"), T.Literal(""), f.JsonSchema], {
      "x-expected": "'json' or a JSON Schema",
    }),
    "`json`: the answer is a JSON object. A JSON Schema: the answer follows it. Both by a grammar, unless `num_predict` ends the answer. Empty: text.",
  ),
  options: f.nullable(Options, "Settings of the answer."),
  think: f.nullable(
    T.Union(
      [
        T.Boolean(),
        ...["low", "medium", "high", "max"].map((level) =>
          f.ignoredAs(T.Literal(level), `${noEffort} As \`true\`.`),
        ),
      ],
      { "x-expected": "true or false, or a level" },
    ),
    "`false` leaves the thoughts of a reasoning model out of the answer; `eval_count` still counts them. Otherwise they are in `thinking`.",
  ),
  logprobs: f.flag("Report the log probability of each token of the answer's text.", false),
  top_logprobs: f.nullable(
    f.integer(0, 20),
    "How many of the likeliest tokens to report for each token; needs `logprobs`.",
  ),
  stream: f.flag("Send the answer in pieces as they are generated, each a line of JSON.", true),
  keep_alive: chatKeepAlive,
  truncate: f.ignored("A conversation that is too long is rejected with 400.", unlessFalse),
  shift: f.ignored("A full context ends the answer with the reason `length`.", unlessFalse),
  rag: ragField,
};

/** Calls of an earlier answer that clients send back. */
const SentCall = f.unexamined(
  f.openObject({
    id: f.nullable(T.String()),
    function: f.unexamined(
      f.openObject({ name: f.nonEmpty, arguments: T.Record(T.String(), T.Unknown()) }),
    ),
  }),
);

const Message = f.openObject({
  role: f.oneOf(["system", "user", "assistant", "tool"], {
    description: "Who wrote it; `tool`: the result of a call.",
  }),
  content: f.nullable(T.String(), "The text.", ""),
  tool_calls: f.nullable(
    T.Array(SentCall),
    "An assistant's calls `{id, function: {name, arguments}}`; `arguments` is an object. The messages after it answer each call.",
  ),
  tool_call_id: f.nullable(T.String(), "The call that a tool answers."),
  tool_name: f.nullable(
    T.String(),
    "Instead of `tool_call_id`: the tool whose next call is answered. Without both, results answer the calls in their order.",
  ),
  thinking: f.accepted("Models are not shown their earlier thoughts."),
  images,
});

export type Message = Static<typeof Message>;

const { properties: functionFields } = FunctionTool.properties.function;

const Tool = f.openObject({
  type: f.optional(T.Literal("function"), "The one type of tools.", "function"),
  function: f.openObject(
    {
      ...functionFields,
      strict: f.flag(
        "Rejects a schema that a grammar cannot enforce. Otherwise the model is only told of the parts that cannot be enforced. An extension.",
        false,
      ),
    },
    { description: "The function." },
  ),
});

export const OllamaChatRequest = f.openObject({
  ...shared,
  messages: f.nullable(
    T.Array(Message),
    "The conversation so far. Without any the answer only says that the model is loaded. At most `limits.max_messages`, by default 2048.",
  ),
  tools: f.nullable(T.Array(Tool, { maxItems: 128 }), "Functions that the model may call."),
});

export type OllamaChatRequest = Static<typeof OllamaChatRequest>;

export const OllamaGenerateRequest = f.openObject({
  ...shared,
  prompt: f.nullable(
    T.String(),
    "The user's message. Without it the answer only says that the model is loaded.",
    "",
  ),
  system: f.nullable(T.String(), "The system prompt."),
  raw: f.flag(
    "Continue the prompt as it is, without the model's template. Not with `system`, `format`, `suffix` of a model that cannot fill in, or `rag`.",
    false,
  ),
  suffix: f.nullable(
    T.String(),
    "The text after the answer: the model fills in the middle, and the prompt is taken as with `raw`. Rejected if its vocabulary has no tokens for that.",
  ),
  template: f.rejected(
    "cannot be honoured: a model's template is part of its configuration; send 'raw' with a prompt that you have formatted",
    unless(""),
  ),
  context: f.rejected(
    "cannot be honoured: this node returns none; send the conversation to /api/chat",
    { ...unlessEmpty, except: "an empty list" },
  ),
  images,
  width: f.rejected(writesText, unless(0)),
  height: f.rejected(writesText, unless(0)),
  steps: f.rejected(writesText, unless(0)),
});

export type OllamaGenerateRequest = Static<typeof OllamaGenerateRequest>;

/** Converts requests of Ollama's API to the domain: pure functions, no HTTP. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import type { CompletionsRequest } from "../../../core/chat/completion-service.ts";
import { checkConversation, checkedToolUse } from "../../../core/chat/conversation.ts";
import { NodeError } from "../../../core/errors.ts";
import type { ModelType } from "../../../core/models/model.ts";
import type {
  AnswerFormat,
  ChatMessage,
  Content,
  ToolCall,
} from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { chatNames, type FieldNames, withNames } from "../../wire/field-names.ts";
import { refuse, required, withoutNulls } from "../../wire/fields.ts";
import { toSampling } from "../../wire/generation-fields.ts";
import { toRag } from "../../wire/grounding.ts";
import { type ImageReader, noImages, noImagesOf } from "../../wire/images.ts";
import { toTool } from "../../wire/messages.ts";
import type { ModelNeeds } from "../../wire/models.ts";
import type { Message, OllamaChatRequest, OllamaGenerateRequest } from "./schema.ts";

export const ollamaChatNames: FieldNames = {
  ...chatNames,
  format: () => "format",
  schema: () => "format",
  "max tokens": () => "options.num_predict",
};

/** The conversation of /api/generate is its prompt. */
export const generateNames: FieldNames = {
  ...ollamaChatNames,
  messages: () => "prompt",
  prompt: () => "prompt",
};

/** Ollama's names have a tag, and without one they mean this. */
export const usualTag = ":latest";

/** What Ollama's clients call the work of each type of model. */
const workOf: Readonly<Record<ModelType, string>> = {
  chat: "chat",
  embedding: "embeddings",
  reranker: "reranking",
};

export const withoutTag = (asked: string): string =>
  asked.endsWith(usualTag) ? asked.slice(0, -usualTag.length) : asked;

interface NamedModel {
  model?: string | null;
  name?: string | null;
}

/** What a request about a model names. */
export const nameIn = ({ model, name }: NamedModel): string =>
  required(model || name || undefined, "model", "a string");

/** Ollama's name of a place on the hub, as a source; another name stays as it is. */
export const toSource = (name: string): string =>
  hubName.test(name) ? withoutTag(name.replace(hubName, "hf:")) : name;

const hubName = /^(https?:\/\/)?(hf\.co|huggingface\.co)\//;

const isOnHub = (source: string): source is `hf:${string}` => source.startsWith("hf:");

/** The node's name of a model, which may be asked for by its place on the hub; throws if it has none, or one of another type. */
export async function modelNamed(
  { models, library }: ModelNeeds,
  asked: string,
  wanted?: ModelType,
): Promise<string> {
  const known = [asked, withoutTag(asked)].find((each) => models.typeOf(each) !== undefined);
  const source = toSource(asked);
  const pulled = known === undefined && isOnHub(source) && (await library.pulledFrom(source));
  const name = known ?? (pulled || asked);
  const type = models.typeOf(name);
  if (type === undefined) throw models.notFound(asked, ...(wanted === undefined ? [] : [wanted]));
  if (wanted === undefined || type === wanted) return name;
  // Not a 404: clients would try to pull it.
  throw new NodeError(
    "invalid_request",
    `${quoted(asked)} does not support ${workOf[wanted]}: it is a model of type '${type}'.`,
    { param: "model" },
  );
}

type Settings = Pick<
  OllamaChatRequest,
  "options" | "logprobs" | "top_logprobs" | "keep_alive" | "format"
>;

/** The settings that chats and continued texts share. */
export function toSettings({ options, logprobs, top_logprobs: top }: Settings) {
  const { num_predict: most, seed, stop } = options ?? {};
  if (logprobs !== true && top) throw refuse("top_logprobs", "needs 'logprobs' to be true");
  const stops = typeof stop === "string" ? [stop] : (stop ?? []);
  return {
    sampling: toSampling(options ?? {}),
    ...withoutNulls({
      maxTokens: most && most > 0 ? most : undefined,
      seed: seed === -1 ? undefined : seed,
      stop: stops.length === 0 ? undefined : stops,
      topLogprobs: logprobs === true ? (top ?? 0) : undefined,
    }),
  };
}

export function toChatRequest(
  body: OllamaChatRequest,
  model: string,
  readImage: ImageReader,
): ChatRequest {
  const tools = (body.tools ?? []).map(({ function: { strict, ...sent } }) => {
    return { ...toTool(sent), strict: strict === true };
  });
  return {
    model,
    messages: toChatMessages(body.messages ?? [], readImage),
    ...toSettings(body),
    ...withoutNulls({
      format: toFormat(body),
      toolUse: checkedToolUse({ tools, choice: "auto", parallel: true }),
      rag: toRag(body.rag),
    }),
  };
}

/** Whether the prompt is continued as it is, instead of being answered in a chat. */
export const isContinued = ({ raw, suffix }: OllamaGenerateRequest): boolean =>
  raw === true || Boolean(suffix);

export function toGenerateChat(
  body: OllamaGenerateRequest,
  model: string,
  readImage: ImageReader,
): ChatRequest {
  const { system, prompt, images } = body;
  return {
    model,
    messages: [
      ...(system ? [{ role: "system", content: system } as const] : []),
      { role: "user", content: prompt ?? "", ...readImages(images, "images", readImage) },
    ],
    ...toSettings(body),
    ...withoutNulls({ format: toFormat(body), rag: toRag(body.rag) }),
  };
}

/** `nPredict`: the model's own limit, -1 without one. */
export function toCompletion(
  body: OllamaGenerateRequest,
  model: string,
  nPredict: number,
): CompletionsRequest {
  const how = body.raw === true ? "raw" : "suffix";
  for (const field of ["system", "format", "rag", "images"] as const) {
    const value = body[field];
    if (Array.isArray(value) ? value.length > 0 : value)
      throw refuse(field, `cannot be combined with '${how}'`);
  }
  return {
    model,
    prompts: [body.prompt ?? ""],
    choices: 1,
    ...(nPredict < 0 ? {} : { maxTokens: nPredict }),
    ...toSettings(body),
    ...(body.suffix ? { suffix: body.suffix } : {}),
  };
}

function toFormat({ format }: Pick<Settings, "format">): AnswerFormat | undefined {
  if (format === "json") return "json";
  return format === "" || !format ? undefined : { schema: format };
}

/** Ollama's images have no places in the text; its own models see them first. */
function readImages(
  sent: readonly string[] | null | undefined,
  param: string,
  readImage: ImageReader,
): Pick<Content, "images"> {
  const images = (sent ?? []).map((data, index) => {
    return { at: 0, ...readImage({ field: "", encoded: { data } }, `${param}[${index}]`) };
  });
  return images.length === 0 ? {} : { images };
}

export function toChatMessages(
  sent: readonly Message[],
  readImage: ImageReader = noImages,
): ChatMessage[] {
  let open = new OpenCalls([], true);
  const messages = sent.map((message, index): ChatMessage => {
    const { role, tool_calls: calls } = message;
    const content = message.content ?? "";
    if (calls?.length && role !== "assistant") {
      const param = `messages[${index}].tool_calls`;
      throw refuse(param, "is for messages with the role 'assistant'");
    }
    const takesImages = role === "user" || role === "tool";
    const reader = takesImages ? readImage : noImagesOf(role);
    const images = readImages(message.images, `messages[${index}].images`, reader);
    if (role === "tool") {
      return { role, content, toolCallId: open.answeredBy(message), ...images };
    }
    if (role !== "assistant") return { role, content, ...images };
    const toolCalls = (calls ?? []).map(({ id, function: { name, arguments: sent } }, at) => {
      return { id: id || `call_${index}_${at}`, name, arguments: JSON.stringify(sent) };
    });
    open = new OpenCalls(toolCalls, calls?.some(({ id }) => id) === true);
    return { role, content, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
  });
  withNames(ollamaChatNames, () => checkConversation(messages));
  return messages;
}

/** The calls of one message that no result has answered yet. */
class OpenCalls {
  readonly #open: Set<string>;
  /** Whether they came with ids: many clients leave them out, even if their results have them. */
  readonly #haveIds: boolean;
  /** Those of each tool, the next one last. */
  readonly #ofTool: Map<string, string[]>;

  constructor(calls: readonly ToolCall[], haveIds: boolean) {
    this.#haveIds = haveIds;
    this.#open = new Set(calls.map(({ id }) => id));
    const byName = Map.groupBy(calls.toReversed(), ({ name }) => name);
    this.#ofTool = new Map([...byName].map(([name, those]) => [name, those.map(({ id }) => id)]));
  }

  /** The call that a result means; what it says itself if it means none. */
  answeredBy({ tool_call_id: id, tool_name: name }: Message): string {
    const [next] = this.#open;
    const meant = id && this.#haveIds ? id : (this.#nextOf(name) ?? next ?? (id || name || ""));
    this.#open.delete(meant);
    return meant;
  }

  #nextOf(name: string | null | undefined): string | undefined {
    const ids = name ? this.#ofTool.get(name) : undefined;
    while (ids !== undefined) {
      const id = ids.pop();
      if (id === undefined || this.#open.has(id)) return id;
    }
    return undefined;
  }
}

/** Reads the body of a Responses request, but for its conversation and tools, into a chat request. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import type { AnswerFormat, ChatMessage } from "../../../core/ports/chat-engine.ts";
import { refuse, withoutNulls } from "../../wire/fields.ts";
import { toGenerationSettings, toSampling } from "../../wire/generation-fields.ts";
import { toRag } from "../../wire/grounding.ts";
import { toRag as searchToRag } from "./file-search.ts";
import type { ResponseRequest } from "./request-schema.ts";
import { served } from "./schema.ts";
import type { OfferedTools } from "./tools.ts";

export function toChatRequest(
  body: ResponseRequest,
  { toolUse, search }: OfferedTools,
): Omit<ChatRequest, "messages"> {
  if (search !== undefined && body.rag !== null && body.rag !== undefined) {
    throw refuse(
      "rag",
      "cannot be used with the tool 'file_search', which grounds the answer itself",
    );
  }
  return {
    model: body.model,
    sampling: toSampling(body),
    ...toGenerationSettings(body),
    ...withoutNulls({
      maxTokens: body.max_output_tokens,
      topLogprobs: toTopLogprobs(body),
      format: body.text?.format && toFormat(body.text.format),
      toolUse,
      rag:
        search === undefined ? toRag(body.rag) : searchToRag(search.tool, `tools[${search.place}]`),
    }),
  };
}

export const withInstructions = (
  instructions: string | null | undefined,
  conversation: readonly ChatMessage[],
): readonly ChatMessage[] =>
  instructions === null || instructions === undefined
    ? conversation
    : [{ role: "system", content: instructions }, ...conversation];

function toTopLogprobs({ include, top_logprobs: top }: ResponseRequest): number | undefined {
  if (include?.includes(served.logprobs) === true) return top ?? 0;
  if (top === null || top === undefined || top === 0) return undefined;
  throw refuse("top_logprobs", `needs '${served.logprobs}' in 'include'`);
}

type Format = NonNullable<NonNullable<ResponseRequest["text"]>["format"]>;

function toFormat(format: Format): AnswerFormat {
  if (format.type === "text") return "text";
  if (format.type === "json_object") return "json";
  return { schema: format.schema };
}

/** What a response in the background cannot have. */
export function checkBackground({ background, stream, store }: ResponseRequest): void {
  if (background !== true) return;
  if (stream === true) {
    throw refuse(
      "stream",
      "cannot be used with 'background'; ask GET /v1/responses/{id} until the response is made",
    );
  }
  if (store === false) throw refuse("store", "must not be false where 'background' is true");
}

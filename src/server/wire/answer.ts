/** Begins an answer, for every API: caller options, ignored fields, prompt log. */
import { AnswerRoom, charactersOf } from "../../core/chat/answer-parts.ts";
import {
  type ChatAnswer,
  type ChatRequest,
  type ChatService,
  ignoredBy,
} from "../../core/chat/chat-service.ts";
import { type CompletionsRequest, complete } from "../../core/chat/completion-service.ts";
import { longerThanContext } from "../../core/chat/context-room.ts";
import type { Grounding } from "../../core/chat/rag.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { JsonSize } from "../../core/json-size.ts";
import type { Log } from "../../core/log.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  Sampling,
  ToolUse,
} from "../../core/ports/chat-engine.ts";
import { quoted } from "../../core/quoted.ts";
import { redactPaths } from "../middleware/errors.ts";
import { announceIgnored } from "../middleware/ignored-fields.ts";
import type { RequestContext } from "../request-context.ts";
import { wireName } from "./generation-fields.ts";
import { type RetrievalReport, toPointMetadata } from "./grounding.ts";

/** Says what was done in another way than it was asked for. */
export const noticeHeader = "x-paddock-notice";

export interface ChatNeeds {
  chat: ChatService;
  log: Log;
}

/** Begins an answer as the caller, and announces settings that the model ignores. */
export async function beginAnswer(
  request: ChatRequest,
  context: RequestContext,
  { chat, log }: ChatNeeds,
  { onStart, nameOf }: Pick<CallOptions, "onStart"> & { nameOf?: typeof wireName } = {},
): Promise<ChatAnswer> {
  const hold = (bytes: number): void => context.held.add(bytes);
  const asked = { ...request, searcher: context.authenticated, hold };
  const begin: Beginning["begin"] = (options) =>
    chat.answer(asked, { ...options, ...given({ onStart }) });
  return await beginWith({ begin, ignored: chat.ignored(request) }, context, log, nameOf);
}

interface Beginning {
  begin: (options: Omit<CallOptions, "onStart">) => ChatAnswer | Promise<ChatAnswer>;
  /** Settings that the model ignores. */
  ignored: readonly (keyof Sampling)[];
}

export interface CompletionNeeds {
  models: ModelRegistry;
  log: Log;
}

/** `beginAnswer` for prompts that are continued as they are. */
export async function beginCompletion(
  request: CompletionsRequest,
  context: RequestContext,
  { models, log }: CompletionNeeds,
  { nameOf }: { nameOf?: typeof wireName } = {},
): Promise<ChatAnswer> {
  const begin: Beginning["begin"] = (options) => complete(models, request, options);
  const ignored = ignoredBy(models.chat(request.model), request.sampling);
  return await beginWith({ begin, ignored }, context, log, nameOf);
}

/** `nameOf`: the API's field of a setting. */
async function beginWith(
  { begin, ignored }: Beginning,
  context: RequestContext,
  log: Log,
  nameOf = wireName,
): Promise<ChatAnswer> {
  const { prefixScope } = context.lease;
  // Before the answer, which may begin only after the headers were sent.
  announceIgnored(
    ignored.map((name) => nameOf(name)),
    context,
    log,
  );
  const begun = await begin({ ...context.engineCall, ...given({ prefixScope }) });
  // Without a prompt log, events go to the client directly.
  return context.logsPrompts ? recorded(begun, context) : begun;
}

/** Each is held as text, and then as JSON until it is read. */
const bytesPerCharacter = 2;
const sliceLength = 65_536;

/** An answer that is held until its end, and counts with what its caller holds. */
export function held(answer: ChatAnswer, { held }: Pick<RequestContext, "held">): ChatAnswer {
  async function* counted(): ChatAnswer["events"] {
    let length = 0;
    for await (const event of answer.events) {
      length += charactersOf(event.value);
      if (length >= sliceLength) {
        held.add(length * bytesPerCharacter);
        length = 0;
      }
      yield event;
    }
  }
  return { ...answer, events: counted() };
}

/** The events of an answer that `begin` starts when they are read: a stream sends comments while retrieval waits for a model. */
export async function* streamed<Begun>(
  begin: () => Promise<Begun>,
  toEvents: (begun: Begun) => AsyncIterable<string>,
): AsyncGenerator<string> {
  yield* toEvents(await begin());
}

/** The tokens of a prompt, without passages that would ground the answer. */
export async function countPrompt(
  engine: ChatEngine,
  messages: readonly ChatMessage[],
  toolUse: ToolUse | undefined,
  { engineCall }: RequestContext,
): Promise<number> {
  const tokens = await engine.countTokens(messages, toolUse?.tools, engineCall);
  if (!Number.isFinite(tokens)) throw longerThanContext(engine.contextSize, "messages");
  return tokens;
}

/** Records the text of each choice for the prompt log, even if the answer is incomplete. */
function recorded(answer: ChatAnswer, context: Pick<RequestContext, "loggedAnswer">): ChatAnswer {
  const texts = Array.from({ length: answer.choices }, () => "");
  context.loggedAnswer = () => ({ texts });
  return { ...answer, events: recordedEvents(answer.events, texts) };
}

async function* recordedEvents(
  events: ChatAnswer["events"],
  texts: string[],
): ChatAnswer["events"] {
  const room = new AnswerRoom();
  for await (const event of events) {
    const { index, value } = event;
    const more = "text" in value ? value.text : value.type === "tool-call" ? value.name : "";
    room.take({ type: "text", text: more });
    texts[index] = (texts[index] ?? "") + more;
    yield event;
  }
}

/** The arguments of a call; undefined if the answer's end cut them short. `size` counts all calls. */
export function parsedArguments(
  { name, text }: { name: string; text: string },
  isCut: boolean,
  size: JsonSize,
): unknown {
  if (text === "") return {};
  let what = "arguments that are nested too deep or hold too much";
  if (size.add(Buffer.from(text)) === undefined) {
    try {
      return JSON.parse(text);
    } catch {
      what = "what is not JSON";
    }
  }
  if (isCut) return undefined;
  const why = `The server that runs the model called the tool ${quoted(name)} with ${what}.`;
  throw new NodeError("upstream_failed", why);
}

export function toRetrievalReport(grounding: Grounding): RetrievalReport {
  const { points, dropped, carried, error, notice } = grounding;
  return {
    points: points.map((point) => ({
      source: point.source,
      score: point.score,
      metadata: toPointMetadata(point),
    })),
    dropped,
    ...(carried === 0 ? {} : { carried }),
    ...given({ error: error === undefined ? undefined : redactPaths(error), notice }),
  };
}

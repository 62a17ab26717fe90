/** POST /api/pull and DELETE /api/delete: what Ollama's clients do with the node's models folder. */
import { type Static, Type as T } from "@sinclair/typebox";
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import { quoted } from "../../../core/quoted.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import * as f from "../../wire/fields.ts";
import { followPull, type ModelNeeds } from "../../wire/models.ts";
import { ollamaErrors } from "./error-format.ts";
import { inLines, lines, ollamaModelErrors } from "./operation.ts";
import { modelNamed, nameIn, toSource, withoutTag } from "./request.ts";
import { named } from "./schema.ts";

const OllamaPullRequest = f.openObject({
  ...named,
  model: f.nullable(
    T.String({ maxLength: 2000 }),
    "`hf.co/owner/repo:quant`, or any source of `POST /v1/models/pull`; the name of a model of this node does nothing. Names of Ollama's own library are not known here.",
  ),
  insecure: f.ignored("Models come over connections that nobody can change.", {
    unless: (value) => value === false,
    except: "`false`",
  }),
  stream: f.flag("Send progress, each a line of JSON.", true),
});

export const OllamaPullStatus = T.Object({
  status: T.String({ description: "What is done; `success` at the end." }),
  digest: f.optional(
    T.String(),
    "Names what is downloaded, for clients that count by it; not of its content.",
  ),
  total: f.optional(f.count(), "Bytes."),
  completed: f.optional(f.count(), "Bytes of these that are there."),
});

type OllamaPullStatus = Static<typeof OllamaPullStatus>;

const OllamaDeleteRequest = f.openObject(named);

const OllamaDeleted = T.Object({});

const common = {
  name: "ollama_models",
  tag: "Ollama",
  scope: "models",
  errorFormat: ollamaErrors,
} as const;

const example = "hf.co/bartowski/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M";
const done: OllamaPullStatus = { status: "success" };

const notInLibrary = (name: string): NodeError =>
  new NodeError(
    "model_not_found",
    `${quoted(name)} is not on this node, which does not have Ollama's own library. Name a place on the hub: hf.co/owner/repo:quant.`,
    { param: "model" },
  );

export const ollamaLibraryOperations = [
  defineOperation({
    ...common,
    route: "POST /api/pull",
    operationId: "ollamaPull",
    summary: "Pull a model, in Ollama's API",
    description: "As `POST /v1/models/pull` does.",
    isLong: true,
    body: {
      ...namedSchema({ OllamaPullRequest }),
      example: { model: example },
      takesAnyType: true,
      logged: ({ model, name }) => ({ model: model ?? name }),
    },
    answer: described({ OllamaPullStatus }, "It is there.", done),
    stream: {
      ...described({ OllamaPullStatus }, "A line of JSON for each of these.", {
        ...{ status: "Downloading the model", digest: digestOf("hf:owner/repo:Q4_K_M") },
        ...{ total: 986_048_768, completed: 104_857_600 },
      }),
      ...inLines,
    },
    errors: ollamaModelErrors,
    handler: async ({ body }, context, { models, library }: ModelNeeds) => {
      const asked = nameIn(body);
      await library.refresh();
      const format = lines(context);
      const isHere = [asked, withoutTag(asked)].some((name) => models.typeOf(name) !== undefined);
      if (isHere) return body.stream === false ? { json: done } : { events: only(done), format };
      const source = toSource(asked);
      if (!/^\w+:/.test(source)) throw notInLibrary(asked);
      const pull = followPull(library, source, { signal: context.signal });
      if (body.stream !== false) return { events: statusLines(pull), format };
      await pull.model;
      return { json: done };
    },
  }),
  defineOperation({
    ...common,
    route: "DELETE /api/delete",
    operationId: "ollamaDelete",
    summary: "Delete a model, in Ollama's API",
    description: "As `DELETE /v1/models/{id}` does.",
    body: {
      ...namedSchema({ OllamaDeleteRequest }),
      example: { model: "Qwen2.5-1.5B-Instruct-GGUF-Q4_K_M" },
      takesAnyType: true,
      logged: ({ model, name }) => ({ model: model ?? name }),
    },
    answer: described({ OllamaDeleted }, "It is gone.", {}),
    errors: ollamaModelErrors,
    handler: async ({ body }, _context, needs: ModelNeeds) => {
      const asked = nameIn(body);
      const { library } = needs;
      await library.refresh();
      await library.remove(await modelNamed(needs, asked));
      return { json: {} };
    },
  }),
] as const;

async function* only(status: OllamaPullStatus): AsyncGenerator<string> {
  yield JSON.stringify(status);
}

/** Of the source: Ollama's own program shows a part of it, and crashes if it is short. */
function digestOf(source: string): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(source).digest("hex")}`;
}

async function* statusLines(pull: ReturnType<typeof followPull>): AsyncGenerator<string> {
  for await (const { label, source, completed, total } of pull.progress()) {
    const bytes = total === 0 ? {} : { digest: digestOf(source), total, completed };
    yield JSON.stringify({ status: label, ...given(bytes) } satisfies OllamaPullStatus);
  }
  await pull.model;
  yield JSON.stringify(done);
}

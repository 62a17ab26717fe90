/**
 * What a chat needs of an answer at least, checked: other servers of the OpenAI API send less than a
 * node does, send null for what is absent, and have names of their own. Only the command line
 * imports this: TypeBox's checks would add a third to the size of the page.
 */
import { type Static, Type as T, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Delta, Model, ModelInfo, Point } from "./wire.ts";

/** Each field may be missing, or null. */
type Loose<Fields> = { [Name in keyof Fields]?: Fields[Name] | null };

/** Some servers say `reasoning` where a node says `reasoning_content`. */
export type TolerantDelta = Loose<Pick<Delta, "content" | "reasoning_content">> & {
  reasoning?: string | null;
};

interface TolerantChunk {
  choices: { delta?: TolerantDelta; finish_reason?: string | null }[];
}

interface TolerantCompletion {
  choices: { message: TolerantDelta }[];
}

interface TolerantModelList {
  data: Pick<Model, "id">[];
}

/** A type of model that is not known yet is no failure. */
interface TolerantNodeInfo {
  models: (Pick<ModelInfo, "name"> & { type: string })[];
}

interface TolerantRetrieveResult {
  points: (Pick<Point, "source" | "score"> & {
    metadata?: Loose<Pick<NonNullable<Point["metadata"]>, "document" | "heading">>;
  })[];
}

/** Gives the answer where it holds what is needed; undefined where it does not. */
type Reader<Answer> = (answer: unknown) => Answer | undefined;

const reader =
  <Schema extends TSchema>(schema: Schema): Reader<Static<Schema>> =>
  (answer) =>
    Value.Check(schema, answer) ? answer : undefined;

const text = T.Optional(T.Union([T.String(), T.Null()]));
const delta = T.Object({ content: text, reasoning_content: text, reasoning: text });

export const readChunk: Reader<TolerantChunk> = reader(
  T.Object({
    choices: T.Array(T.Object({ delta: T.Optional(delta), finish_reason: text })),
  }),
);

export const readCompletion: Reader<TolerantCompletion> = reader(
  T.Object({
    choices: T.Array(T.Object({ message: delta, finish_reason: text }), { minItems: 1 }),
  }),
);

export const readModelList: Reader<TolerantModelList> = reader(
  T.Object({ data: T.Array(T.Object({ id: T.String() })) }),
);

export const readNodeInfo: Reader<TolerantNodeInfo> = reader(
  T.Object({ models: T.Array(T.Object({ name: T.String(), type: T.String() })) }),
);

export const readRetrieveResult: Reader<TolerantRetrieveResult> = reader(
  T.Object({
    points: T.Array(
      T.Object({
        source: T.String(),
        score: T.Number(),
        metadata: T.Optional(T.Object({ document: text, heading: text })),
      }),
    ),
  }),
);

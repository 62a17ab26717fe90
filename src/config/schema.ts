/** Every setting of the node, with its default; each group of sections has a file of its own. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Auth, Http, Limits } from "./access-schema.ts";
import { Documents, Ingest } from "./documents-schema.ts";
import { Engine } from "./engine-schema.ts";
import { Rag, Retrieval, Vectorstore } from "./knowledge-schema.ts";
import { ModelConfig } from "./model-schema.ts";
import { Responses } from "./responses-schema.ts";
import { Shared } from "./shared-schema.ts";
import { Metrics, Telemetry } from "./telemetry-schema.ts";

export const Config = T.Object(
  {
    host: T.String({ minLength: 1, default: "127.0.0.1", description: "Address to listen on." }),
    port: T.Integer({
      minimum: 0,
      maximum: 65535,
      default: 8080,
      description: "Port to listen on; 0: any free one.",
    }),
    data_dir: T.String({
      minLength: 1,
      default: ".paddock",
      description: "Where models and the collection are kept.",
    }),
    log_level: T.Union(
      [T.Literal("debug"), T.Literal("info"), T.Literal("warn"), T.Literal("error")],
      { default: "info", description: "How much is written to the log." },
    ),
    log_prompts: T.Boolean({
      default: false,
      description: "Write what is asked and answered into the log, at level `info`.",
    }),
    auth: Auth,
    http: Http,
    vectorstore: Vectorstore,
    retrieval: Retrieval,
    rag: Rag,
    ingest: Ingest,
    documents: Documents,
    responses: Responses,
    engine: Engine,
    limits: Limits,
    shared: Shared,
    metrics: Metrics,
    telemetry: Telemetry,
    models: T.Array(ModelConfig, {
      minItems: 1,
      default: [
        { name: "TinyLlama-1.1B-Chat-v1.0", type: "chat", source: "starter:chat" },
        { name: "all-MiniLM-L6-v2", type: "embedding", source: "starter:embedding" },
      ],
    }),
  },
  { additionalProperties: false },
);

export type Config = Static<typeof Config>;

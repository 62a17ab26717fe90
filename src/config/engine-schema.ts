/** What models run in. */
import { Type as T } from "@sinclair/typebox";

const strict = { additionalProperties: false } as const;

export const Engine = T.Object(
  {
    threads: T.Integer({
      minimum: 0,
      default: 0,
      description: "Threads of all models together; 0: as many as the process has cores.",
    }),
    isolation: T.Union([T.Literal("process"), T.Literal("none")], {
      default: "process",
      description:
        "`process`: each model in a process of its own, which is started again when it crashes; `none`: all in the node's.",
    }),
    heartbeat_timeout: T.Integer({
      minimum: 0,
      maximum: 3600,
      default: 30,
      description:
        "Seconds that a model's process may leave its heartbeat unanswered before it is ended and started again; ten times as long while it loads; 0: no bound.",
    }),
    step_timeout: T.Integer({
      minimum: 0,
      maximum: 3600,
      default: 60,
      description:
        "Seconds that a model's process may compute without finishing a step (a batch of a chat, a text that is embedded or ranked) before it is ended and started again; a step that usually takes long may take ten times its usual time; 0: no bound.",
    }),
    share_prefixes: T.Boolean({
      default: false,
      description:
        "Whether keys share the evaluated beginnings of their prompts. A system prompt that all use is then evaluated once, and a caller can learn from `cached_tokens` and from time whether another key's prompt begins like theirs. A key's own prompts are always shared, and everybody's where there are no keys.",
    }),
    memory_limit: T.Integer({
      minimum: 0,
      default: 0,
      description:
        "Megabytes that all models may take together, as estimated from their files; the one unused for longest is unloaded to make room; 0: no bound.",
    }),
    gpu_libraries: T.Optional(
      T.String({
        minLength: 1,
        "x-default": "beside it",
        description:
          "Folder with llama.cpp's GPU libraries, looked in before the place that `paddock pull gpu` puts them; see the page about models.",
      }),
    ),
  },
  { ...strict, default: {} },
);

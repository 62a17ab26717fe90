/** Libraries: the page's lines as a program, and one program for the rest, on a few functions of each. */
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, repeated } from "./client.ts";
import { run } from "./command.ts";
import { snippet } from "./page.ts";

interface Library {
  name: string;
  packages: readonly string[];
  /** Its functions, in `libraries/`. */
  adapter: string;
  known?: Client["known"];
}

const libraries: readonly Library[] = [
  { name: "openai", packages: ["openai@7.53.0"], adapter: "openai" },
  { name: "Anthropic", packages: ["@anthropic-ai/sdk@1.8.0"], adapter: "anthropic" },
  { name: "Ollama", packages: ["ollama@0.6.4"], adapter: "ollama" },
  {
    name: "AI SDK",
    packages: ["ai@7.0.169", "@ai-sdk/openai-compatible@3.0.90", "zod@4.6.7"],
    adapter: "ai-sdk",
  },
  {
    name: "LangChain",
    packages: ["@langchain/openai@1.6.0", "@langchain/core@1.2.13", "zod@4.6.7"],
    adapter: "langchain",
    known: { model: repeated },
  },
  {
    name: "LlamaIndex",
    packages: ["llamaindex@0.12.1", "@llamaindex/openai@0.4.23", "zod@3.25.76"],
    adapter: "llamaindex",
  },
  { name: "Mastra", packages: ["@mastra/core@1.71.0", "zod@4.6.7"], adapter: "mastra" },
  {
    name: "InferenceClient",
    packages: ["@huggingface/inference@4.13.30"],
    adapter: "hugging-face",
  },
];

const files = join(import.meta.dir, "libraries");

export const libraryClients: readonly Client[] = libraries.map(
  ({ name, packages, adapter, known = {} }) => ({
    name,
    packages,
    known,
    async lines({ folder, page, own, env }) {
      await writeFile(join(folder, "lines.mjs"), snippet(page, name, "js", own));
      return await run([process.execPath, "lines.mjs"], { cwd: folder, env });
    },
    async ask({ folder, own, env }, trial, question, stop) {
      await copyFile(join(files, "trial.mjs"), join(folder, "trial.mjs"));
      await copyFile(join(files, `${adapter}.mjs`), join(folder, "adapter.mjs"));
      const asked = { ORIGIN: own.origin, KEY: own.key, MODEL: own.model, QUESTION: question };
      return await run([process.execPath, "trial.mjs", trial], {
        cwd: folder,
        env: { ...env, ...asked },
        ...(stop === undefined ? {} : { stop }),
      });
    },
  }),
);

/** The models that the page suggests: well known, under the Apache licence, each one file on the hub. */
import type { ModelList } from "../../client/wire.ts";

export interface Suggestion {
  title: string;
  /** What the model is good for. */
  use: string;
  source: string;
  /** Of its file, in bytes. */
  size: number;
  /** Bytes for four answers at a time, each with a context of 4,096 tokens. */
  memory: number;
}

/** The smallest first. */
export const suggestions: readonly Suggestion[] = [
  {
    title: "Qwen3 0.6B",
    use: "Quick on any machine; for simple questions and trying things out.",
    source: "hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf",
    size: 0.64e9,
    memory: 2.9e9,
  },
  {
    title: "Qwen3 1.7B",
    use: "Short texts in many languages: summaries, rewording, answers from documents.",
    source: "hf:Qwen/Qwen3-1.7B-GGUF/Qwen3-1.7B-Q8_0.gguf",
    size: 1.83e9,
    memory: 4.1e9,
  },
  {
    title: "Qwen3 4B",
    use: "Everyday questions, documents and tools; a good first choice.",
    source: "hf:Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf",
    size: 2.5e9,
    memory: 5.4e9,
  },
  {
    title: "Qwen2.5 Coder 7B",
    use: "Writing and explaining code.",
    source: "hf:Qwen/Qwen2.5-Coder-7B-Instruct-GGUF/qwen2.5-coder-7b-instruct-q4_k_m.gguf",
    size: 4.68e9,
    memory: 6.1e9,
  },
  {
    title: "Qwen3 8B",
    use: "Harder questions and longer texts, where there is time for them.",
    source: "hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf",
    size: 5.03e9,
    memory: 7.9e9,
  },
];

/** The name that the node gives a pulled file. */
export const suggestedName = ({ source }: Suggestion): string =>
  (source.split("/").at(-1) ?? source).replace(/\.gguf$/, "");

/** Those for which the machine has enough memory, apart from what other programs use now. */
export const fitting = ({
  total,
  models = total,
}: NonNullable<ModelList["memory"]>): readonly Suggestion[] =>
  suggestions.filter(({ memory }) => memory <= models);

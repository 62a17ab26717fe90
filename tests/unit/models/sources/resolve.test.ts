import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type ModelFacts,
  type PickOptions,
  pickChatFile,
} from "../../../../src/engine/machine/model-memory.ts";
import { autoSource } from "../../../../src/models/sources/resolve.ts";
import { largeChat, smallChat, smallEmbedding } from "../../../support/model-facts.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const copied = "tinyllama-1.1b-chat-v1.0.Q8_0.gguf";
const files: Readonly<Record<string, ModelFacts>> = {
  "small.gguf": smallChat,
  "large.gguf": largeChat,
  "vectors.gguf": smallEmbedding,
  "tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf": smallChat,
  "tinyllama-1.1b-chat-v1.0.q8_0.gguf": smallChat,
  [copied]: smallChat,
  "tinyllama-1.1b-chat-v1.0.iq2_xxs.from-0123456789abcdef.q8_0.gguf": smallChat,
};

async function sourceAmong(
  names: readonly string[],
  memory = 64e9,
  type: "chat" | "embedding" = "chat",
) {
  await using folder = await tempDir();
  for (const name of names) await writeFile(join(folder.path, name), "");
  const options: PickOptions = {
    parallel: 4,
    machine: async () => ({ memory, availableMemory: memory, memoryBound: "machine" }),
    readFacts: async (path) => {
      const facts = files[basename(path)];
      if (facts === undefined) throw new Error("no GGUF");
      return { ...facts, files: [path] };
    },
  };
  const { source, why } = await autoSource(type, {
    folder: folder.path,
    pickChatFile: (paths) => pickChatFile(paths, options),
  });
  return [basename(source), why];
}

describe("a model that is left to the node", () => {
  test("is the largest pulled one that fits", async () => {
    const why = "the largest pulled model that fits the memory comfortably";
    const all = [...Object.keys(files), "broken.gguf"];
    expect(await sourceAmong(all)).toEqual(["large.gguf", why]);
    expect(await sourceAmong(all, 8e9)).toEqual(["small.gguf", why]);
  });

  test("is the starter model where no other is there, or fits", async () => {
    const own = Object.keys(files).filter(
      (name) => name.startsWith("tinyllama") && name !== copied,
    );
    expect(await sourceAmong(own)).toEqual([
      "starter:chat",
      "the starter model; no other chat model was pulled",
    ]);
    expect(await sourceAmong(["large.gguf"], 4e9)).toEqual([
      "starter:chat",
      "the starter model; no pulled one fits the memory comfortably",
    ]);
  });

  test("is one of the starter's kind that was copied there by hand", async () => {
    expect((await sourceAmong([copied]))[0]).toBe(copied);
  });

  test("is the starter model for embeddings, whatever was pulled", async () => {
    expect((await sourceAmong(["vectors.gguf"], 64e9, "embedding"))[0]).toBe("starter:embedding");
  });
});

import { describe, expect, test } from "bun:test";
import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type GgufHeader,
  type GgufValue,
  readGgufHeader,
} from "../../../../src/engine/gguf/header.ts";
import { readModelFacts } from "../../../../src/engine/gguf/model-facts.ts";
import { architecture, entry, header, text, types, u32, u64 } from "../../../support/gguf-bytes.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const huge = 2n ** 63n;
const tensor = (name: string, dimensions: readonly (number | bigint)[], offset: number | bigint) =>
  Buffer.concat([
    text(name),
    u32(dimensions.length),
    ...dimensions.map(u64),
    u32(0), // F32
    u64(offset),
  ]);
const list = (key: string, type: number, length: number | bigint, ...items: Buffer[]): Buffer =>
  entry(key, types.array, u32(type), u64(length), ...items);

async function read(bytes: Uint8Array): Promise<GgufHeader> {
  await using folder = await tempDir();
  const path = join(folder.path, "m.gguf");
  await writeFile(path, bytes);
  return await readGgufHeader(path);
}

describe("a header", () => {
  test("is read: values, lengths of lists, and where the tensors lie", async () => {
    const bytes = header(
      { tensors: 1, keys: 4 },
      architecture,
      entry("a.size", types.u32, u32(7)),
      list("a.each", types.u32, 2, u32(3), u32(4)),
      list("a.words", types.text, 2, text("one"), text("two")),
      tensor("w", [3, 5], 0),
    );
    expect(await read(bytes)).toEqual({
      metadata: new Map<string, GgufValue>([
        ["general.architecture", "llama"],
        ["a.size", 7],
        ["a.each", { length: 2, numbers: [3, 4] }],
        ["a.words", { length: 2 }],
      ]),
      tensors: [{ values: 15, type: 0, offset: 0, typeAt: bytes.length - 12 }],
      alignment: 32,
      dataStart: Math.ceil(bytes.length / 32) * 32,
    });
  });

  test("may hold texts and lists that are longer than what is in memory at once", async () => {
    const long = "x".repeat(3_000_000);
    const many = Array.from({ length: 200_000 }, (_, at) => text(`token ${at}`));
    const { metadata } = await read(
      header(
        { keys: 3 },
        entry("tokenizer.huggingface.json", types.text, text(long)),
        list("tokenizer.ggml.tokens", types.text, many.length, ...many),
        architecture,
      ),
    );
    expect([...metadata]).toEqual([
      ["tokenizer.ggml.tokens", { length: 200_000 }],
      ["general.architecture", "llama"],
    ]);
  });

  test("has no more numbers in memory than a model needs, however many lists there are", async () => {
    const lists = Array.from({ length: 17 }, (_, at) =>
      list(`list ${at}`, types.u8, 4096, Buffer.alloc(4096)),
    );
    const { metadata } = await read(header({ keys: 17 }, ...lists));
    expect(metadata.get("list 15")).toHaveProperty("numbers");
    expect(metadata.get("list 16")).toEqual({ length: 4096 });
  });

  // Read without bounds, the first three never ended, the lists within lists and what was cut off were taken.
  test.each([
    ["2^63 keys", header({ keys: huge }, architecture), "at most 65536 are read"],
    [
      "2^63 tensors",
      header({ keys: 1, tensors: huge }, architecture),
      "tensors, and at most 65536 are read",
    ],
    [
      "a list of 2^62 items",
      header({ keys: 1 }, list("a", types.u8, 2n ** 62n)),
      "list items, and at most 16777216 are read",
    ],
    [
      "many lists of many items",
      header({ keys: 3 }, ...["a", "b", "c"].map((key) => list(key, types.u8, 2 ** 24))),
      "its header is cut off",
    ],
    [
      "a text of 2^40 bytes",
      header({ keys: 1 }, entry("a", types.text, u64(2n ** 40n))),
      "its header is cut off",
    ],
    [
      "a text of 2^40 bytes in a list",
      header({ keys: 1 }, list("a", types.text, 1, u64(2n ** 40n))),
      "its header is cut off",
    ],
    ["a key of 2^40 bytes", header({ keys: 1 }, u64(2n ** 40n)), "bytes in a name"],
    [
      "lists 1000 deep",
      header(
        { keys: 1 },
        entry("a", types.array, ...Array.from({ length: 1000 }, () => [u32(9), u64(1)]).flat()),
      ),
      "its header has lists within lists",
    ],
    ["fewer keys than it says", header({ keys: 5 }, architecture), "its header is cut off"],
    ["a key twice", header({ keys: 2 }, architecture, architecture), "twice"],
    ["a value of no known type", header({ keys: 1 }, entry("a", 77)), "unknown type 77"],
    [
      "a tensor of 2^32 dimensions",
      header({ keys: 0, tensors: 1 }, text("w"), u32(2 ** 32 - 1)),
      "at most 4 are read",
    ],
    [
      "a tensor of 2^189 weights",
      header({ keys: 0, tensors: 1 }, tensor("w", [huge, huge, huge], 0)),
      "a tensor that no file could hold",
    ],
    ["an unknown version", Buffer.from("GGUF\u0001\0\0\0"), "version 1"],
    ["no GGUF's start", Buffer.from("<!doctype html>"), "does not begin as a GGUF does"],
    ["nothing", Buffer.alloc(0), "its header is cut off"],
  ])("is refused at once with %s", async (_, bytes, message) => {
    expect(await rejectionOf(read(bytes))).toMatchObject({
      message: expect.stringContaining(message),
    });
  });

  test("is refused where it is longer than any model's, however long the file", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "m.gguf");
    await writeFile(path, header({ keys: 1 }, entry("a", types.text, u64(2n ** 30n))));
    await truncate(path, 2 ** 31); // takes no room
    await expect(readGgufHeader(path)).rejects.toThrow("its header is longer than 134217728 bytes");
  });
});

describe("what a header says of the model", () => {
  const size = (key: string, value: number) => entry(`llama.${key}`, types.u32, u32(value));

  // 4,294,967,295 layers took all memory.
  test.each([
    ["layers", size("block_count", 2 ** 32 - 1), "it says that it has 4294967295 layers"],
    [
      "lengths",
      entry("llama.context_length", types.f32, Buffer.from(new Float32Array([-1]).buffer)),
      "it says that llama.context_length is -1",
    ],
  ])("is refused where it cannot be: %s", async (_, said, message) => {
    await using folder = await tempDir();
    const path = join(folder.path, "m.gguf");
    const rest = [size("attention.head_count", 8), size("embedding_length", 64)];
    await writeFile(path, header({ keys: 4 }, architecture, said, ...rest));
    await expect(readModelFacts(path)).rejects.toThrow(message);
  });

  test("is refused with the names of the files that are missing", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "m-00001-of-00003.gguf"), header({ keys: 1 }, architecture));
    await expect(readModelFacts(join(folder.path, "m-00001-of-00003.gguf"))).rejects.toThrow(
      "'m-00002-of-00003.gguf', 'm-00003-of-00003.gguf' of its 3 files are not there",
    );
  });

  test("is refused where it is a part of a model, and its name hides that", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "m.gguf");
    const part = entry("split.count", types.u32, u32(3));
    await writeFile(path, header({ keys: 2 }, architecture, part));
    await expect(readModelFacts(path)).rejects.toThrow("it is a part of a model in 3 files");
  });
});

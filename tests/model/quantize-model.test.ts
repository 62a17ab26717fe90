import { describe, expect, test } from "bun:test";
import { copyFile, mkdir, readdir, truncate, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { readGgufFileInfo } from "node-llama-cpp";
import { readModelFacts } from "../../src/engine/gguf/model-facts.ts";
import {
  findQuantized,
  type QuantizeOptions,
  quantizeModel,
} from "../../src/engine/quantization/quantize-model.ts";
import { engineEnvironment, type Program } from "../../src/subprocess/program.ts";
import { programUnderTest } from "../support/paddock-process.ts";
import { recordingLog } from "../support/recording-log.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentProgress } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyChatModel } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { waitFor } from "../support/wait-for.ts";

const env = engineEnvironment(process.env);
const running = (...command: readonly string[]): Program => ({ command, env });
const program = running(...programUnderTest);

function options(folder: string, overrides: Partial<QuantizeOptions> = {}) {
  const { log, lines } = recordingLog();
  const { signal } = new AbortController();
  const base = {
    type: "q8_0",
    folder,
    threads: 1,
    program,
    signal,
    progress: silentProgress,
  } as const;
  return { options: { ...base, log, ...overrides }, lines };
}

async function tinyFile(folder: string): Promise<string> {
  const path = join(folder, "tiny.f32.gguf");
  await copyFile((await tinyModels()).chat, path);
  return path;
}

describe("quantizing a model", () => {
  test("makes a file in the form that was asked for, which chats; once, and not of one that has it", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const { options: wanted, lines } = options(folder.path);
    const made = await quantizeModel(path, wanted);
    expect(basename(made)).toMatch(/^tiny\.f32\.from-[0-9a-f]{16}\.q8_0\.gguf$/);
    expect(lines).toEqual([]);
    const { fullTensorInfo = [] } = await readGgufFileInfo(made);
    const types = new Set(fullTensorInfo.map(({ ggmlType }) => ggmlType));
    expect(types.has(8)).toBe(true); // Q8_0
    await using model = await tinyChatModel({ path: made });
    expect(model.card.settings.ctxSize).toBe(256);
    const { mtimeMs } = await Bun.file(made).stat();
    expect(await quantizeModel(path, wanted)).toBe(made);
    expect((await Bun.file(made).stat()).mtimeMs).toBe(mtimeMs);
    const own = join(folder.path, "own.gguf");
    await copyFile(made, own);
    expect(await quantizeModel(own, wanted)).toBe(own);
  });

  test("makes a file again that is cut off or empty, as after a copy to a full disk", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const { options: wanted } = options(folder.path);
    const made = await quantizeModel(path, wanted);
    const { size } = Bun.file(made);
    for (const left of [size - 1, 0]) {
      await truncate(made, left);
      expect(await findQuantized(path, wanted)).toBeUndefined();
      expect(await quantizeModel(path, wanted)).toBe(made);
      expect((await Bun.file(made).stat()).size).toBe(size);
    }
  });

  test("pauses and goes on as it is told, and makes the folder where no model was put before", async () => {
    await using folder = await tempDir();
    const told: boolean[] = [];
    const quiet = {
      watch(onChange: (goesOn: boolean) => void): Disposable {
        const tell = (goesOn: boolean): void => {
          told.push(goesOn);
          onChange(goesOn);
        };
        tell(false);
        setImmediate(() => tell(true));
        return { [Symbol.dispose]: () => {} };
      },
    };
    const models = join(folder.path, "data", "models");
    const made = await quantizeModel(
      await tinyFile(folder.path),
      options(models, { quiet }).options,
    );
    expect(told).toEqual([false, true]);
    expect(basename(made)).toEndWith(".q8_0.gguf");
    expect(await readdir(models)).toContain(basename(made));
  });

  test("is not paused before it would end with the node", async () => {
    await using folder = await tempDir();
    const paused: string[] = [];
    const quiet = {
      watch(): Disposable {
        paused.push("it was");
        return { [Symbol.dispose]: () => {} };
      },
    };
    const silent = running(process.execPath, "--eval", "setTimeout(() => process.exit(1), 50)");
    const { options: wanted } = options(folder.path, { quiet, program: silent });
    const path = await tinyFile(folder.path);
    expect(await quantizeModel(path, wanted)).toBe(path);
    expect(paused).toEqual([]);
  });

  test("ends at once where it is told to while it pauses", async () => {
    await using folder = await tempDir();
    const stop = new AbortController();
    const quiet = {
      watch(onChange: (goesOn: boolean) => void): Disposable {
        onChange(false);
        setImmediate(() => stop.abort());
        return { [Symbol.dispose]: () => {} };
      },
    };
    const { options: wanted } = options(folder.path, { quiet, signal: stop.signal });
    const path = await tinyFile(folder.path);
    expect(await rejectionOf(quantizeModel(path, wanted))).toMatchObject({ name: "AbortError" });
    expect(await readdir(folder.path)).toEqual(["tiny.f32.gguf"]);
  });

  test("keeps apart models of one name in two folders, and those that differ before the last dot only", async () => {
    await using folder = await tempDir();
    const { chat, embedding, otherEmbedding } = await tinyModels();
    const made: string[] = [];
    for (const [source, ...place] of [
      [embedding, "one", "Llama-3.1-8B-Instruct.gguf"],
      [otherEmbedding, "other", "Llama-3.1-8B-Instruct.gguf"],
      [chat, "one", "Llama-3.2-1B-Instruct.gguf"],
    ] as const) {
      const path = join(folder.path, ...place);
      await mkdir(dirname(path), { recursive: true });
      await copyFile(source, path);
      made.push(await quantizeModel(path, options(folder.path).options));
    }
    expect(new Set(made).size).toBe(3);
    const kinds = await Promise.all(made.map(async (path) => (await readModelFacts(path)).kind));
    expect(kinds).toEqual(["embedding", "embedding", "chat"]);
  });

  test("makes it anew where the source was replaced, and removes what was made of the old one", async () => {
    await using folder = await tempDir();
    const { embedding, otherEmbedding } = await tinyModels();
    const path = join(folder.path, "m.gguf");
    await copyFile(embedding, path);
    const before = await quantizeModel(path, options(folder.path).options);
    await copyFile(otherEmbedding, path);
    const { options: wanted, lines } = options(folder.path);
    const after = await quantizeModel(path, wanted);
    expect(after).not.toBe(before);
    const files = await readdir(folder.path);
    expect(files.filter((name) => name.endsWith(".gguf")).sort()).toEqual(
      ["m.gguf", basename(after)].sort(),
    );
    expect(files).toHaveLength(3); // and the note of what it was made from
    expect(lines).toEqual([
      {
        level: "info",
        message: "a quantized file of replaced weights was removed",
        fields: { file: basename(before) },
      },
    ]);
  });

  test("removes what a killed process left of it", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const left = [crypto.randomUUID(), crypto.randomUUID()].map((id) =>
      join(folder.path, `other.from-0123456789abcdef.q8_0.gguf.${id}.part`),
    );
    for (const file of left) await writeFile(file, "half");
    await utimes(left[0] ?? "", new Date(0), new Date(0));
    await quantizeModel(path, options(folder.path).options);
    const names = await readdir(folder.path);
    expect(left.map((file) => names.includes(basename(file)))).toEqual([false, true]);
  });

  test("leaves alone what another one writes that is paused for long", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const script = `const partial = process.argv.find((each) => each.endsWith(".part"));
      await Bun.write(partial, "as if made"); console.log("begun"); await Bun.sleep(3000);`;
    const slow = running(process.execPath, "--eval", script);
    const making = quantizeModel(
      path,
      options(folder.path, { type: "f16", program: slow }).options,
    );
    const partial = async () => (await readdir(folder.path)).find((name) => name.endsWith(".part"));
    await waitFor("the beginning", async () => (await partial()) !== undefined);
    await utimes(join(folder.path, (await partial()) ?? ""), new Date(0), new Date(0));
    await Bun.sleep(500);
    await quantizeModel(path, options(folder.path).options);
    expect(basename(await making)).toEndWith(".f16.gguf");
  });

  test("uses the original, with one line in the log, where it cannot be done", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const failing = running(
      process.execPath,
      "--eval",
      "console.error('no quantiser'); process.exit(3)",
    );
    const { options: wanted, lines } = options(folder.path, { program: failing });
    expect(await quantizeModel(path, wanted)).toBe(path);
    expect(lines).toEqual([
      {
        level: "warn",
        message: "the model is used with the weights that it came with",
        fields: { wanted: "q8_0", why: "no quantiser" },
      },
    ]);
    expect(await readdir(folder.path)).toEqual(["tiny.f32.gguf"]);
  });

  test("ends when it is asked to, and leaves no half file", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const stop = new AbortController();
    const sleeping = running(process.execPath, "--eval", "setTimeout(() => {}, 60000)");
    const { options: wanted } = options(folder.path, { program: sleeping, signal: stop.signal });
    const quantizing = quantizeModel(path, wanted);
    stop.abort(new Error("stopped"));
    expect(await quantizing.catch((error: unknown) => error)).toMatchObject({
      message: "stopped",
    });
    expect(await readdir(folder.path)).toEqual(["tiny.f32.gguf"]);
  });
});

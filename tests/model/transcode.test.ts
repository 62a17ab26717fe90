import { describe, expect, test } from "bun:test";
import { copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { readGgufFileInfo } from "node-llama-cpp";
import { engineEnvironment, type Program } from "../../src/core/program.ts";
import { type TranscodeOptions, transcode } from "../../src/engine/transcode.ts";
import { mainFile } from "../support/paddock-process.ts";
import { recordingLog } from "../support/recording-log.ts";
import { silentProgress } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyChatModel } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

const env = engineEnvironment(process.env);
const running = (...command: readonly string[]): Program => ({ command, env });
const program = running(process.execPath, mainFile);

function options(folder: string, overrides: Partial<TranscodeOptions> = {}) {
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

describe("transcoding", () => {
  test("makes a file in the form that was asked for, which chats; and makes it once", async () => {
    await using folder = await tempDir();
    const path = await tinyFile(folder.path);
    const { options: wanted, lines } = options(folder.path);
    const made = await transcode(path, wanted);
    expect(made).toBe(join(folder.path, "tiny.q8_0.gguf"));
    expect(lines).toEqual([]);
    const { fullTensorInfo = [] } = await readGgufFileInfo(made);
    const types = new Set(fullTensorInfo.map(({ ggmlType }) => ggmlType));
    expect(types.has(8)).toBe(true); // Q8_0
    await using model = await tinyChatModel({ path: made });
    expect(model.card.settings.ctxSize).toBe(256);
    const { mtimeMs } = await Bun.file(made).stat();
    expect(await transcode(path, wanted)).toBe(made);
    expect((await Bun.file(made).stat()).mtimeMs).toBe(mtimeMs);
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
    expect(await transcode(path, wanted)).toBe(path);
    expect(lines).toEqual([
      {
        level: "warn",
        message: "the model is used in the form it came in",
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
    const transcoding = transcode(path, wanted);
    stop.abort(new Error("stopped"));
    expect(await transcoding.catch((error: unknown) => error)).toMatchObject({
      message: "stopped",
    });
    expect(await readdir(folder.path)).toEqual(["tiny.f32.gguf"]);
  });
});

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { modelBytes, sha256Of } from "../support/model-bytes.ts";
import { type Answer, honest, modelServer } from "../support/model-server.ts";
import { runPaddock, servePaddock, startPaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { waitFor } from "../support/wait-for.ts";

const tiny = async (): Promise<Uint8Array> => Bun.file((await tinyModels()).chat).bytes();

describe("paddock pull", () => {
  test("fetches a model and prints its place and the lines that use it, which a node then does", async () => {
    const bytes = await tiny();
    await using hub = await modelServer((asked) =>
      asked.path === "/v2/owner/repo-GGUF/manifests/Q8_0"
        ? { status: 200, body: JSON.stringify({ ggufFile: { rfilename: "tiny.Q8_0.gguf" } }) }
        : honest(bytes)(asked),
    );
    await using folder = await tempDir();
    const options = { cwd: folder.path, env: { HF_ENDPOINT: hub.url } };
    const { code, stdout, stderr } = await runPaddock(["pull", "hf:owner/repo-GGUF:Q8_0"], options);
    const path = join(folder.path, ".paddock", "models", "hf_owner_repo-GGUF_tiny.Q8_0.gguf");
    expect([code, stdout]).toEqual([
      0,
      `${path}\n\n[[models]]\nname = "repo-GGUF-Q8_0"\ntype = "chat"\nsource = "hf:owner/repo-GGUF:Q8_0"\n\n`,
    ]);
    expect(stderr).toContain("Downloading hf_owner_repo-GGUF_tiny.Q8_0.gguf");
    expect(stderr).toContain("llama, 44 k parameters, F32, trained on 4096 tokens");
    expect((await stat(join(folder.path, ".paddock"))).mode & 0o777).toBe(0o700);
    const lines = stdout.slice(stdout.indexOf("[[models]]"));
    await writeFile(join(folder.path, "paddock.toml"), `[vectorstore]\nhandbook = false\n${lines}`);
    const asked = hub.asked.length;
    await using node = await servePaddock(options);
    const listed = await fetch(`${node.origin}/v1/models`);
    expect(await listed.json()).toMatchObject({ data: [{ id: "repo-GGUF-Q8_0" }] });
    expect(hub.asked).toHaveLength(asked);
  });

  test("goes on after it was killed, and after it was asked to stop", async () => {
    const bytes = modelBytes(3_000_000);
    const tinyBytes = await tiny();
    const whole = new Uint8Array(bytes.length);
    whole.set(bytes);
    whole.set(tinyBytes);
    const upTo = (end: number, answer: Answer): Answer => {
      const { body } = answer;
      if (!(body instanceof Uint8Array)) return answer;
      const start = whole.length - body.length;
      return {
        ...answer,
        headers: { ...answer.headers, "content-length": String(body.length) },
        body: body.slice(0, end - start),
        ending: "stall",
      };
    };
    await using server = await modelServer((asked, before) => {
      const answer = honest(whole)(asked);
      return before < 2 ? upTo((before + 1) * 1_000_000, answer) : answer;
    });
    await using folder = await tempDir();
    const args = ["pull", `${server.url}/m.gguf`, "--sha256", sha256Of(whole).toUpperCase()];
    const models = join(folder.path, ".paddock", "models");
    const arrived = async (size: number): Promise<void> => {
      await server.askedTimes(size / 1_000_000);
      await waitFor("a part", () =>
        readdirSync(models).some(
          (name) => name.endsWith(".part") && Bun.file(join(models, name)).size === size,
        ),
      );
    };
    {
      await using killed = startPaddock(args, { cwd: folder.path });
      await arrived(1_000_000);
      killed.process.kill("SIGKILL");
      await killed.exit();
    }
    {
      await using stopped = startPaddock(args, { cwd: folder.path });
      await arrived(2_000_000);
      stopped.process.kill("SIGINT");
      expect(await stopped.exit()).toBe(130);
      expect(stopped.stderr()).toEndWith("Stopped. The same command goes on from here.\n");
    }
    const { code, stdout, stderr } = await runPaddock(args, { cwd: folder.path });
    expect([code, stderr]).toEqual([0, expect.stringContaining("Going on with web_127.0.0.1_")]);
    expect(server.asked.map(({ headers }) => headers.range)).toEqual([
      undefined,
      "bytes=1000000-",
      "bytes=2000000-",
    ]);
    const [path = ""] = stdout.split("\n");
    expect(sha256Of(await Bun.file(path).bytes())).toBe(sha256Of(whole));
    expect((await readdir(models)).sort()).toEqual([
      "digests.json",
      expect.stringMatching(/\.gguf$/),
      expect.stringMatching(/\.gguf\.origin\.json$/),
    ]);
  });

  test("says as JSON what it brought", async () => {
    const { chat, reranker } = await tinyModels();
    await using folder = await tempDir();
    const pull = (...args: string[]) => runPaddock(["pull", ...args], { cwd: folder.path });
    expect(JSON.parse((await pull(chat, "--json")).stdout)).toMatchObject([
      { source: chat, path: chat, files: [chat], kind: "chat", architecture: "llama" },
    ]);
    expect(JSON.parse((await pull(reranker, "--json")).stdout)).toMatchObject([
      {
        kind: "reranker",
        configuration: `[retrieval]\nreranker = "tiny-reranker"\n\n[[models]]\nname = "tiny-reranker"\ntype = "reranker"\nsource = ${JSON.stringify(reranker)}\n`,
      },
    ]);
    // A path is looked at where it is.
    expect(await readdir(folder.path)).not.toContain(".paddock");
  });

  test("refuses a file that is not what it should be, and says why", async () => {
    const bytes = await tiny();
    await using server = await modelServer((asked) =>
      asked.path === "/gone.gguf"
        ? { status: 404 }
        : honest(asked.path === "/cut.gguf" ? bytes.slice(0, -123) : bytes)(asked),
    );
    await using folder = await tempDir();
    const pull = (...args: string[]) => runPaddock(["pull", ...args], { cwd: folder.path });
    const refusals: [string[], string][] = [
      [
        [`${server.url}/m.gguf`, "--sha256", "0".repeat(64)],
        "is not the one it should be, and was removed",
      ],
      [[`${server.url}/gone.gguf`], "has no /gone.gguf"],
      [["./missing.gguf"], "The model file './missing.gguf' does not exist"],
      [["http://models.example/m.gguf"], "must be an https:// address"],
      [["hf:nonsense"], "Write hf:owner/repo:quant or hf:owner/repo/file.gguf"],
      [[`${server.url}/m.gguf`, "--sha256", "123"], "'--sha256' must be a digest of 64"],
    ];
    for (const [args, message] of refusals) {
      const { code, stdout, stderr } = await pull(...args);
      expect([code, stdout, stderr]).toEqual([1, "", expect.stringContaining(message)]);
    }
    const path = join(folder.path, "page.gguf");
    await writeFile(path, "<html>");
    expect((await pull(path)).stderr).toContain("cannot be read");
    const kept = (await readdir(join(folder.path, ".paddock", "models"))).filter(
      (name) => !name.endsWith(".lock"),
    );
    expect(kept).toEqual([]);
    const cut = await pull(`${server.url}/cut.gguf`);
    expect([cut.code, cut.stdout, cut.stderr]).toEqual([
      1,
      "",
      expect.stringMatching(
        /cut off: 123 bytes are missing.* Before it is pulled again, remove it: paddock models rm (web_127\.0\.0\.1_\w+_cut\.gguf)\n$/,
      ),
    ]);
    const [, name = ""] = /models rm (\S+)/.exec(cut.stderr) ?? [];
    const removal = await runPaddock(["models", "rm", name, "--yes"], { cwd: folder.path });
    expect(removal.code).toBe(0);
  });

  test("checks a digest of what is there already too", async () => {
    const { chat } = await tinyModels();
    await using folder = await tempDir();
    const pull = (digest: string) =>
      runPaddock(["pull", chat, "--sha256", digest], { cwd: folder.path });
    expect((await pull(sha256Of(await tiny()))).code).toBe(0);
    const { code, stderr } = await pull("0".repeat(64));
    expect([code, stderr]).toEqual([1, expect.stringContaining("is there, but it is not the one")]);
    expect(await Bun.file(chat).exists()).toBe(true);
  });
});

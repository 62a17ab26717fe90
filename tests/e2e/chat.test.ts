import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configuredKeyId } from "../../src/server/middleware/authentication.ts";
import { configuredNode } from "../support/configured-node.ts";
import { oldResponsesFile } from "../support/old-responses-file.ts";
import {
  endlessStream,
  frame,
  modelList,
  openAiServer,
  type Script,
  streamOf,
} from "../support/openai-server.ts";
import { runPaddock } from "../support/paddock-process.ts";
import { arrowUp, ctrlC, ctrlD, openTerminal } from "../support/paddock-terminal.ts";
import { tempDir } from "../support/temp-dir.ts";
import { responseStore } from "../support/test-responses.ts";
import { tinyChatConfig, tinyConfig } from "../support/tiny-node.ts";

const done = "data: [DONE]\n\n";

/** Counts what it is sent, so that an answer shows what the server knows. */
const counting: Script = ({ path, body }) => {
  if (path === "/v1/models") return modelList("first", "second");
  if (path !== "/v1/chat/completions") return undefined;
  const { model, messages } = body as { model: string; messages: { role: string }[] };
  const text = `${model} saw ${messages.map(({ role }) => role[0]).join("")}`;
  return streamOf([frame(text.slice(0, 4)), frame(text.slice(4), "stop"), done]);
};

/** A server with one model, which answers as it is told. */
const chatting =
  (answer: () => Response | undefined): Script =>
  ({ path }) => {
    if (path === "/v1/models") return modelList("m");
    return path === "/v1/chat/completions" ? answer() : undefined;
  };

describe("paddock chat in a pipe", () => {
  test("answers one question with its own models, and prints the answer alone", async () => {
    await using folder = await tempDir();
    const config = `[auth]\napi_keys = ["a-long-secret"]\n${await tinyChatConfig("n_predict = 8")}`;
    await writeFile(join(folder.path, "paddock.toml"), config);
    await mkdir(join(folder.path, ".paddock"));
    const path = join(folder.path, ".paddock", "responses.sqlite");
    oldResponsesFile(path, { resp_1: "configured 1" });
    const { code, stdout, stderr } = await runPaddock(["chat"], {
      cwd: folder.path,
      input: "hello",
    });
    expect([code, stdout.endsWith("\n")]).toEqual([0, true]);
    expect(stderr).toContain("Loading tiny-chat");
    expect(stdout).not.toContain("Loading");
    // The chat has a key of its own; what is stored is the node's keys'.
    await using store = responseStore({ path });
    const owner = configuredKeyId("a-long-secret");
    expect(await store.find("resp_1", owner)).toMatchObject({ id: "resp_1" });
  });

  test("asks a node that wants a key, which only the environment holds", async () => {
    const config = `[auth]\napi_keys = ["a-long-secret"]\n${await tinyChatConfig("n_predict = 8")}`;
    await using node = await configuredNode(config);
    const ask = (env: Record<string, string>) =>
      runPaddock(["chat", "--url", node.origin], { cwd: node.cwd, env, input: "hello" });
    const none = await ask({});
    expect([none.code, none.stdout]).toEqual([1, ""]);
    expect(none.stderr).toContain("Set the environment variable PADDOCK_KEY to one.");
    expect((await ask({ PADDOCK_KEY: "another-secret" })).stderr).toContain(
      "PADDOCK_KEY holds another.",
    );
    expect((await ask({ PADDOCK_KEY: "a-long-secret" })).code).toBe(0);
  });

  test("asks any server of the OpenAI API", async () => {
    await using folder = await tempDir();
    await using server = openAiServer(counting);
    const args = [
      "chat",
      "--url",
      `${server.url}/v1/`,
      "--model",
      "second",
      "--system",
      "Be brief.",
    ];
    const env = { PADDOCK_KEY: "secret" };
    const result = await runPaddock(args, { cwd: folder.path, env, input: " What? \n" });
    expect(result).toEqual({ code: 0, stdout: "second saw su\n", stderr: "" });
    expect(server.asked.at(-1)).toEqual({
      method: "POST",
      path: "/v1/chat/completions",
      key: "Bearer secret",
      body: {
        model: "second",
        stream: true,
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "What?" },
        ],
      },
    });
  });

  test("shows no control character of an answer, a failure or a model's name, and goes on", async () => {
    await using folder = await tempDir();
    const script: Script = ({ path, body }) => {
      if (path === "/v1/models") return modelList("m", "evil\u001b[8m");
      if (path !== "/v1/chat/completions") return undefined;
      const { messages } = body as { messages: { content: string }[] };
      if (messages.at(-1)?.content === "fail") {
        return Response.json({ error: { message: "No\u001b]0;title\u0007." } }, { status: 503 });
      }
      // Sequences that are whole, cut between pieces, and of C1.
      const pieces = ["a\u001b", "[2J\tb\n", "\u001b]0;ti", "tle\u0007c\u009b31m\u007f\b", "\rd"];
      return streamOf([...pieces.map((piece) => frame(piece)), frame("", "stop"), done]);
    };
    await using server = openAiServer(script);
    const ask = (input: string, ...more: string[]) =>
      runPaddock(["chat", "--url", server.url, ...more], { cwd: folder.path, input });
    expect((await ask("say")).stdout).toBe(
      "a\uFFFD[2J\tb\n\uFFFD]0;title\uFFFDc\uFFFD31m\uFFFD\uFFFD\uFFFDd\n",
    );
    expect((await ask("fail")).stderr).toContain("No\uFFFD]0;title\uFFFD.");
    expect((await ask("a", "--model", "x")).stderr).toContain("There are: m, evil\uFFFD[8m.");
    await using terminal = openTerminal(["chat", "--url", server.url], { cwd: folder.path });
    await terminal.shows("Talking with m");
    terminal.type("fail\r");
    await terminal.shows("The server refused (503). No\uFFFD]0;title\uFFFD.");
    // It goes on, without the question that failed.
    terminal.type("say\r");
    await terminal.shows("a\uFFFD[2J");
    expect(await terminal.shows("\uFFFDd")).toContain("\uFFFD]0;title\uFFFDc\uFFFD31m");
    expect(server.asked.at(-1)?.body).toMatchObject({ messages: [{ content: "say" }] });
    terminal.type("/model\r");
    await terminal.shows("evil\uFFFD[8m");
  });

  test("takes the whole answer of a server that does not stream", async () => {
    await using folder = await tempDir();
    const whole = { choices: [{ message: { role: "assistant", content: "All at once." } }] };
    await using server = openAiServer(chatting(() => Response.json(whole)));
    const { stdout } = await runPaddock(["chat", "--url", server.url], {
      cwd: folder.path,
      input: "a",
    });
    expect(stdout).toBe("All at once.\n");
  });

  test.each<[string, Script, string[], string]>([
    [
      "a refusal",
      chatting(() => Response.json({ error: { message: "Too long." } }, { status: 400 })),
      [],
      "The server refused (400). Too long.",
    ],
    [
      "an answer that breaks off",
      chatting(() => streamOf([frame("half")])),
      [],
      "The answer failed: it ended before it was finished.",
    ],
    [
      "a failure on the way",
      chatting(() => streamOf([frame("a"), 'data: {"error":{"message":"Stopping."}}\n\n'])),
      [],
      "The answer failed: Stopping.",
    ],
    [
      "a model that is not there",
      counting,
      ["--model", "third"],
      "There is no model 'third' to chat with. There are: first, second.",
    ],
    [
      "another kind of server",
      () => undefined,
      [],
      "knows no such path (404). Check the address; most end in /v1.",
    ],
    [
      "another kind of server, built on FastAPI",
      () => Response.json({ detail: "Not Found" }, { status: 404 }),
      [],
      "knows no such path (404). Check the address; most end in /v1.",
    ],
    [
      "a whole answer without a message",
      chatting(() => Response.json({ choices: [{ text: "hi" }] })),
      [],
      "The answer failed: the server sent something else.",
    ],
    ["a page", () => new Response("<html>"), [], "is not of the OpenAI API"],
    [
      "a server that moved",
      () => new Response(null, { status: 308, headers: { location: "https://example.org/v1" } }),
      [],
      "has moved; give its new address: https://example.org/v1",
    ],
  ])("says in a sentence what is wrong: %s", async (_, script, args, message) => {
    await using folder = await tempDir();
    await using server = openAiServer(script);
    const { code, stderr } = await runPaddock(["chat", "--url", server.url, ...args], {
      cwd: folder.path,
      input: "hello",
    });
    expect(code).toBe(1);
    expect(stderr.trim().split("\n")).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    [
      ["--url", "http://127.0.0.1:9"],
      "hello",
      "Nothing answers at http://127.0.0.1:9/v1 (the connection is refused).",
    ],
    [["--url", "localhost:8080"], "hello", "is no address of a server"],
    [["--url", "http://me:secret@127.0.0.1:9"], "hello", "The address holds a credential"],
    [["--url", "http://127.0.0.1:9"], " \n", "There is no question on standard input."],
  ])("refuses %j with %j in a sentence", async (args, input, message) => {
    await using folder = await tempDir();
    const { code, stdout, stderr } = await runPaddock(["chat", ...args], {
      cwd: folder.path,
      input,
    });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("secret");
  });
});

describe("paddock chat in a terminal", () => {
  test("remembers what was said, and does what it is told with a slash", async () => {
    await using folder = await tempDir();
    await using server = openAiServer(counting);
    await using terminal = openTerminal(["chat", "--url", server.url], {
      cwd: folder.path,
      env: { NO_COLOR: "1" },
    });
    await terminal.shows("Talking with first.");
    terminal.type("One?\r");
    await terminal.shows("first saw u\r\n");
    terminal.type("/system Be brief.\r");
    await terminal.shows("The model is told so from now on.");
    terminal.type("/model\r");
    await terminal.shows("* first\r\n  second\r\n");
    terminal.type("/model second\r");
    await terminal.shows("Going on with second.");
    terminal.type("Two?\r");
    await terminal.shows("second saw suau\r\n");
    terminal.type("/modle\r");
    await terminal.shows("There is no command /modle. Did you mean /model?");
    terminal.type("/retrieve Two?\r");
    await terminal.shows("does not retrieve: it is no node of Paddock");
    for (const file of ["talk.md", "talk.json"]) {
      terminal.type(`/save ${file}\r`);
      await terminal.shows(`Saved as ${file}.`);
    }
    terminal.type("/save talk.md\r");
    await terminal.shows("talk.md is there already; name another file.");
    terminal.type("/save talk.txt\r");
    await terminal.shows("talk.txt must end in .md or .json.");
    terminal.type("/clear\r");
    await terminal.shows("Forgotten.");
    terminal.type(`${arrowUp}${arrowUp}${arrowUp}`);
    await terminal.shows("/save talk.md");
    terminal.type("\u0015Three?\r");
    await terminal.shows("second saw su\r\n");
    terminal.type("/help\r");
    const help = await terminal.shows("Ctrl-C stops an answer");
    for (const name of ["retrieve", "model", "system", "save", "clear", "help", "exit"]) {
      expect(help).toContain(`/${name}`);
    }
    terminal.type("/exit\r");
    expect(await terminal.exit()).toBe(0);
    expect(await Bun.file(join(folder.path, "talk.md")).text()).toBe(
      "# Chat with second\n\n## System\n\nBe brief.\n\n## You\n\nOne?\n\n## Answer\n\nfirst saw u\n\n## You\n\nTwo?\n\n## Answer\n\nsecond saw suau\n",
    );
    expect(await Bun.file(join(folder.path, "talk.json")).json()).toEqual({
      model: "second",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "One?" },
        { role: "assistant", content: "first saw u" },
        { role: "user", content: "Two?" },
        { role: "assistant", content: "second saw suau" },
      ],
    });
  });

  test("stops an answer at Ctrl-C, keeps what was written, and leaves at the second", async () => {
    await using folder = await tempDir();
    const streams = [endlessStream("It begins"), endlessStream("Again")];
    const [first, second] = streams;
    await using server = openAiServer(chatting(() => streams.shift()?.response));
    await using terminal = openTerminal(["chat", "--url", server.url], { cwd: folder.path });
    await terminal.shows("Talking with m.");
    terminal.type("Go on.\r");
    await terminal.shows("It begins");
    terminal.type(ctrlC);
    await terminal.shows("(stopped)");
    await first?.left;
    terminal.type("And?\r");
    await terminal.shows("Again");
    expect(server.asked.at(-1)?.body).toMatchObject({
      messages: [{ content: "Go on." }, { content: "It begins" }, { content: "And?" }],
    });
    terminal.type(ctrlC);
    await terminal.shows("(stopped)");
    await second?.left;
    terminal.type(ctrlC);
    expect(await terminal.exit()).toBe(0);
  });

  test("asks before it leaves at a Ctrl-C that stops nothing, and leaves at Ctrl-D", async () => {
    await using folder = await tempDir();
    await using server = openAiServer(counting);
    await using terminal = openTerminal(["chat", "--url", server.url], { cwd: folder.path });
    await terminal.shows("Talking with first.");
    terminal.type(`half a question${ctrlC}`);
    await terminal.shows("Ctrl-C again leaves");
    terminal.type("Whole.\r");
    await terminal.shows("first saw u");
    terminal.type(ctrlD);
    expect(await terminal.exit()).toBe(0);
    expect(server.asked.at(-1)?.body).toMatchObject({ messages: [{ content: "Whole." }] });
  });

  test("talks with its own models, and retrieves from its own collection", async () => {
    await using folder = await tempDir();
    const config = `${(await tinyConfig("n_predict = 8")).replace("[vectorstore]", "[vectorstore]\nscore_threshold = -1")}`;
    await writeFile(join(folder.path, "paddock.toml"), config);
    await writeFile(join(folder.path, "a.md"), "# Fruit\n\napples are red.\n");
    await runPaddock(["ingest", "a.md"], { cwd: folder.path });
    await using terminal = openTerminal(["chat"], { cwd: folder.path, env: { NO_COLOR: "1" } });
    await terminal.shows("Talking with tiny-chat.");
    terminal.type("/retrieve apples\r");
    expect(await terminal.shows("apples are red.")).toMatch(/-?\d\.\d{3} a\.md: Fruit\r\n/);
    terminal.type("/model\r");
    const models = await terminal.shows("* tiny-chat\r\n");
    expect(models).not.toContain("tiny-embedding");
    terminal.type("/exit\r");
    expect(await terminal.exit()).toBe(0);
  });
});

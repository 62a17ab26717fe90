/** A Qdrant server that is stopped, paused and restarted while the node is asked and documents go in. */
import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chatBody, nodeUnderFault } from "../support/node-under-fault.ts";
import { runPaddock } from "../support/paddock-process.ts";
import { qdrantForTests, startQdrant } from "../support/qdrant-server.ts";
import { waitFor } from "../support/wait-for.ts";

const question = { model: "tiny-embedding", messages: [{ role: "user", content: "llamas" }] };

// The server is killed and paused here, which only one of the tests' own may be.
describe.skipIf(!qdrantForTests()?.isOwn)("a Qdrant server under load", () => {
  test("that is killed, paused and restarted costs answers only while it is away", async () => {
    await using qdrant = await startQdrant();
    const vectorstore = `url = "${qdrant.url}"\ntimeout = 5`;
    await using under = await nodeUnderFault({ vectorstore });
    const tally = { answered: 0, refused: 0 };
    let isOver = false;
    const loads = Array.from({ length: 8 }, async (_, at) => {
      while (!isOver) {
        const response = await (at % 2 === 0
          ? under.post("/retrieve", question)
          : under.post("/chat/completions", chatBody("llamas", 2, { rag: true })));
        const text = await response.text();
        // A chat is always answered, and says where it had to do without passages.
        if (at % 2 === 1) expect(response.status).toBe(200);
        else expect([200, 503]).toContain(response.status);
        const isRefused = response.status === 503 || text.includes('"error":"');
        tally[isRefused ? "refused" : "answered"]++;
      }
    });
    const until = (isReady: boolean): Promise<void> =>
      waitFor(
        `/ready to become ${isReady}`,
        async () => ((await under.ready()).status === 200) === isReady,
      );
    await qdrant.kill();
    await until(false);
    await qdrant.start();
    await until(true);
    qdrant.pause();
    await until(false);
    qdrant.resume();
    await until(true);
    await qdrant.restart();
    await until(true);
    isOver = true;
    await Promise.all(loads);
    expect(tally.answered).toBeGreaterThan(0);
    expect(tally.refused).toBeGreaterThan(0);
    await under.expectWell();
  });

  test("that is killed while documents go in has every passage that was acknowledged", async () => {
    await using qdrant = await startQdrant();
    const vectorstore = `url = "${qdrant.url}"\ntimeout = 1`;
    await using under = await nodeUnderFault({ vectorstore });
    const cwd = under.folder.path;
    const parts = Array.from({ length: 600 }, (_, at) => `# Part ${at}\n\nThis is part ${at}.`);
    await writeFile(join(cwd, "long.md"), parts.join("\n\n"));
    const ingest = () => runPaddock(["ingest", "long.md"], { cwd });
    const running = ingest();
    const points = async (): Promise<number> => {
      const response = await fetch(`${qdrant.url}/collections/default/points/count`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ exact: true }),
      });
      return Number(/"count":(\d+)/.exec(await response.text())?.[1]);
    };
    await waitFor("passages of the document", async () => (await points()) > 2);
    await qdrant.kill();
    expect((await running).code).toBe(1);
    await qdrant.start();
    const count = async (): Promise<number> =>
      Number((await runPaddock(["collections", "count"], { cwd })).stdout);
    const kept = await count();
    const again = await ingest();
    expect(again.code).toBe(0);
    expect(await count()).toBe(602);
    // What was there is not embedded again.
    expect(Number(/Stored (\d+) passages/.exec(again.stdout)?.[1])).toBe(602 - kept);
    expect(await under.ready()).toEqual({ status: 200, reasons: [] });
  });
});

/** Kept responses, where the process is killed and where the disk is full or can only be read. */
import { describe, expect, test } from "bun:test";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../../src/core/errors.ts";
import { rejectionOf } from "../support/rejection.ts";
import { canMakeDisks, smallDisk } from "../support/small-disk.ts";
import { tempDir } from "../support/temp-dir.ts";
import { keptResponse, responseStore, testResponses } from "../support/test-responses.ts";
import { waitFor } from "../support/wait-for.ts";

const roomy = { maxBytes: 1e9, maxResponseBytes: 1e6, keepForMs: 1e9 };

test("a kill -9 amid saves loses nothing that was kept, and what was being made has failed", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "responses.sqlite");
  const program = join(import.meta.dir, "..", "support", "keep-forever.ts");
  const writer = Bun.spawn([process.execPath, program, path], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let said = "";
  const decoder = new TextDecoder();
  for await (const bytes of writer.stdout) {
    said += decoder.decode(bytes, { stream: true });
    if (Number(said.trim().split("\n").at(-1)) >= 50) writer.kill("SIGKILL");
  }
  await writer.exited;
  const reported = Number(said.trim().split("\n").at(-1));
  const { store, background, responses } = testResponses({ path, ...roomy });
  await using _ = store;
  expect(reported).toBeGreaterThanOrEqual(50);
  for (let kept = 0; kept < reported; kept++) {
    expect(await store.find(`resp_${kept}`, undefined)).toMatchObject({
      body: { text: "ü".repeat(20_000) },
    });
  }
  expect(await responses.get("resp_made", {})).toMatchObject({ status: "in_progress" });
  await background.recover();
  expect(await responses.get("resp_made", {})).toMatchObject({
    status: "failed",
    failure: { message: expect.stringContaining("The node ended") },
  });
});

// Why they are skipped is said by canMakeDisks.
describe.skipIf(!(await canMakeDisks()))("a disk", () => {
  test("that fills up keeps no more, says so, and has what it had", async () => {
    await using disk = await smallDisk(2);
    const path = join(disk.path, "responses.sqlite");
    await using store = responseStore({ path, ...roomy });
    const body = { text: "x".repeat(100_000) };
    let kept = 0;
    let error: unknown;
    while (error === undefined && kept < 100) {
      error = await store.save(keptResponse(`resp_${kept}`, { body })).then(
        () => {
          kept++;
        },
        (reason: unknown) => reason,
      );
    }
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("the disk is full"),
    });
    expect(kept).toBeGreaterThan(3);
    expect(await store.find("resp_0", undefined)).toMatchObject({ body });
    expect(await store.find(`resp_${kept}`, undefined)).toBeUndefined();
    disk.resize(30);
    await store.save(keptResponse(`resp_${kept}`, { body }));
    for (let number = 0; number <= kept; number++) {
      expect(await store.find(`resp_${number}`, undefined)).toMatchObject({ body });
    }
  });

  test("that is full while the log is empty still answers from what was kept", async () => {
    await using disk = await smallDisk(2);
    const path = join(disk.path, "responses.sqlite");
    await using store = responseStore({ path, ...roomy });
    await store.save(keptResponse("resp_0"));
    await waitFor("an empty log", async () => (await stat(`${path}-wal`)).size === 0);
    await writeFile(join(disk.path, "filler"), new Uint8Array(4e6)).catch(() => {});
    expect(await rejectionOf(store.save(keptResponse("resp_1")))).toBeInstanceOf(NodeError);
    expect(await store.find("resp_0", undefined)).toMatchObject({ id: "resp_0" });
  });

  test("that can only be read still answers from what was kept", async () => {
    await using disk = await smallDisk(10);
    const path = join(disk.path, "responses.sqlite");
    {
      await using store = responseStore({ path, ...roomy });
      await store.save(keptResponse("resp_1"));
    }
    await using view = await disk.readOnlyView();
    await using store = responseStore({ path: join(view.path, "responses.sqlite"), ...roomy });
    expect(await store.find("resp_1", undefined)).toMatchObject({ id: "resp_1" });
    expect(await rejectionOf(store.save(keptResponse("resp_2")))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("can only be read"),
    });
    expect(await store.tidy()).toEqual({ expired: 0, displaced: 0, isDone: true });
  });
});

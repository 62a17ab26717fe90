import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isAlive } from "../../support/process-tree.ts";
import { waitFor } from "../../support/wait-for.ts";

const script = join(import.meta.dir, "..", "..", "support", "busy-child.ts");

/** A shell with a child whose loop is blocked. */
async function busyFamily(how: string) {
  const parent = Bun.spawn(
    ["sh", "-c", `"$0" "$1" "$2" & echo $!; wait`, process.execPath, script, how],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of parent.stdout) {
    said += decoder.decode(chunk);
    if (said.includes("busy")) break;
  }
  return { parent, child: Number.parseInt(said, 10) };
}

describe("a process whose loop is blocked, and whose parent is killed,", () => {
  test.each([
    ["kernel", process.platform === "linux"],
    ["thread", true],
  ] as const)("ends with it, by the %s", async (how, isPossible) => {
    if (!isPossible) return;
    const { parent, child } = await busyFamily(how);
    try {
      expect(isAlive(child)).toBe(true);
      parent.kill("SIGKILL");
      await parent.exited;
      await waitFor("the end of the child", () => !isAlive(child));
    } finally {
      if (isAlive(child)) process.kill(child, "SIGKILL");
    }
  });
});

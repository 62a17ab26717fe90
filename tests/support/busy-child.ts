/** A process that is to end with its parent, by the kernel or by a thread, and blocks its loop for ever. */
import { endWithParentProcess } from "../../src/subprocess/program.ts";

if (process.argv[2] === "kernel") {
  if (!endWithParentProcess()) throw new Error("The kernel does not end it");
} else if (process.argv[2] === "thread") {
  const watch = new Worker(new URL("../../src/parent-watch.ts", import.meta.url));
  await new Promise((resolve) => watch.addEventListener("open", resolve, { once: true }));
}
process.stdout.write("busy\n");
for (;;);

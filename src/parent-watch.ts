/** A thread that ends the process when its parent has ended, for systems whose kernel does not. */

const everyMs = 500;
const parent = process.ppid;

setInterval(() => {
  if (!isThere()) process.kill(process.pid, "SIGKILL");
}, everyMs);

/** Unix gives an orphan another parent; Windows keeps the number of one that is gone. */
function isThere(): boolean {
  if (process.ppid !== parent) return false;
  try {
    return process.kill(parent, 0);
  } catch (error) {
    // A parent that belongs to another user cannot be signalled, and is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** When a process started: with its id this tells it from a later process that got the same id. */
import { readFileSync } from "node:fs";

/** Undefined where there is no such process. The text is only for comparing. */
export function processStart(id: number): string | undefined {
  const stat = textOf(`/proc/${id}/stat`);
  if (stat === undefined) return startInProcessTable(id);
  // The name in parentheses may hold spaces. Then come the state and, as field 22, the ticks since the boot.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const hasEnded = state === "Z" || state === "X";
  return hasEnded ? undefined : `${fields[18]} of ${textOf(bootId)?.trim()}`;
}

/** The same in every container of a machine, and another after each boot. */
const bootId = "/proc/sys/kernel/random/boot_id";

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** For macOS, which has no /proc. */
function startInProcessTable(id: number): string | undefined {
  try {
    const env = { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" };
    const { stdout } = Bun.spawnSync(["ps", "-o", "lstart=", "-p", String(id)], { env });
    return stdout.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}

/** One bash that is given commands as a person types them, one block after another; what it started ends with it. */
import { randomUUID } from "node:crypto";

export interface ShellSession extends AsyncDisposable {
  /** Runs the commands, to the end of those that are not in the background; throws where one fails. */
  run(commands: string): Promise<void>;
  /** All that was printed by now, by background commands too. */
  printed(): string;
}

export function shellSession(options: { cwd: string; env: Record<string, string> }): ShellSession {
  // A session of its own, so that a signal for its process group reaches nobody else.
  const child = Bun.spawn(["setsid", "bash"], {
    ...options,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  let isOver = false;
  let arrived = Promise.withResolvers<void>();
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true });
      arrived.resolve();
      arrived = Promise.withResolvers<void>();
    }
  };
  void Promise.all([collect(child.stdout), collect(child.stderr)]).finally(() => {
    isOver = true;
    arrived.resolve();
  });
  const send = (line: string): void => {
    child.stdin.write(`${line}\n`);
    child.stdin.flush();
  };
  // Also where the tests are cut off, which closes its input.
  send("trap 'trap - EXIT; kill -KILL 0' EXIT; set -eu -o pipefail");
  return {
    printed: () => text,
    async run(commands) {
      const end = `block ${randomUUID()} is over`;
      send(`${commands}\necho '${end}'`);
      while (!text.includes(`${end}\n`)) {
        if (isOver) throw new Error(`A command failed:\n${commands}\n${text}`);
        await arrived.promise;
      }
    },
    async [Symbol.asyncDispose]() {
      // A command in the foreground would be waited for.
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGKILL");
      await child.exited;
    },
  };
}

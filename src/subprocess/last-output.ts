/** How a child process ended, and the end of what it wrote: the last lines before a crash say why. */

/** Characters that are kept of a stream. */
const tailLength = 4000;

/** The end of a stream, once it is over; no more than that is ever held. */
export async function tailOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text = (text + decoder.decode(chunk, { stream: true })).slice(-tailLength);
  }
  return text.trim();
}

/** The last line that says something: what a crash prints of its stack comes after its reason. */
export function lastLine(text: string): string {
  const lines = text.trim().split("\n");
  return lines.findLast((line) => !stackFrame.test(line)) ?? lines.at(-1) ?? "";
}

/** As glibc prints one: `program(function+0x1c)[0x3bac17c]`. */
const stackFrame = /\[0x[0-9a-f]+\]\s*$/;

/** `SIGSEGV`, or `exit code 1`. */
export const exitOf = ({ signalCode, exitCode }: Exited): string =>
  signalCode === null ? `exit code ${exitCode}` : String(signalCode);

type Exited = Pick<Bun.Subprocess, "signalCode" | "exitCode">;

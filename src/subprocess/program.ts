/** This program as a child process for native code: its command line, its environment and its end. */
export interface Program {
  command: readonly string[];
  /** All that the process sees: nothing is inherited. */
  env: Readonly<Record<string, string>>;
}

/** What a process needs on any system to find its files, its user and its language. */
const system = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "TMP",
  "TEMP",
  "XDG_CACHE_HOME",
  "XDG_RUNTIME_DIR",
  "LD_LIBRARY_PATH",
  "LD_PRELOAD",
  // Windows
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "WINDIR",
  "COMSPEC",
  "PATHEXT",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  // Where the executable keeps its libraries.
  "PADDOCK_CACHE_DIR",
] as const;

/** What llama.cpp, its GPU drivers and their libraries are tuned with. */
const engine = [
  "LC_",
  "DYLD_",
  "BUN_JSC_",
  "MALLOC_",
  "GGML_",
  "NODE_LLAMA_CPP_",
  "CUDA",
  "NVIDIA_",
  "HIP_",
  "HSA_",
  "ROCM_",
  "ROCR_",
  "GPU_",
  "VK_",
  "MESA_",
  "ONEAPI_",
  "SYCL_",
  "ZE_",
  "MTL_",
  "METAL_",
  "OMP_",
  "GOMP_",
  "KMP_",
  "OPENBLAS_",
  "MKL_",
] as const;

/** A variable whose name suggests a secret is left out, whatever prefix it has. */
const secret = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;

/** The variables that native code needs; the node's keys and tokens are not among them. */
export function engineEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const needed = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isNeeded(name.toUpperCase()) ? [[name, value] as const] : [],
  );
  return Object.fromEntries(needed);
}

const isNeeded = (name: string): boolean =>
  !secret.test(name) &&
  (system.some((known) => known === name) || engine.some((prefix) => name.startsWith(prefix)));

/** Characters of a stream that are held: the last lines before a crash say why. */
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

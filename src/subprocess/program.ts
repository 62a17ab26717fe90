/** This program as a child process: its command line, its environment, its start and its end. */
import { dlopen, type FFIFunction, FFIType, type Library } from "bun:ffi";
import { readFileSync } from "node:fs";
import { arch, getPriority, platform } from "node:os";

export interface Program {
  command: readonly string[];
  /** All that the process sees: nothing is inherited. */
  env: Readonly<Record<string, string>>;
}

/** The variables that native code needs. */
const needed: readonly RegExp[] = [
  // What a process needs on any system to find its files, its user and its language.
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_.*|TZ|TMPDIR|TMP|TEMP)$/,
  /^(XDG_CACHE_HOME|XDG_RUNTIME_DIR|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_.*)$/,
  // Windows
  /^(SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA)$/,
  /^(PROGRAMDATA|PROGRAMFILES|PROGRAMFILES\(X86\))$/,
  // Where the executable has its libraries.
  /^PADDOCK_CACHE_DIR$/,
  // What the runtime, llama.cpp, its GPU drivers and their libraries are tuned with.
  /^(BUN_JSC|MALLOC|GGML|NODE_LLAMA_CPP)_/,
  /^(CUDA|NVIDIA_)/,
  /^(HIP|HSA|ROCM|ROCR|GPU|VK|MESA|ONEAPI|SYCL|ZE|MTL|METAL)_/,
  /^(OMP|GOMP|KMP|OPENBLAS|MKL)_/,
];

/** A variable whose name suggests a secret is left out, whatever prefix it has. */
const secret = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;

/** What native code needs of the environment; the node's keys and tokens are not part of it. */
export function engineEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const isNeeded = (name: string): boolean =>
    !secret.test(name) && needed.some((pattern) => pattern.test(name.toUpperCase()));
  const entries = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isNeeded(name) ? [[name, value] as const] : [],
  );
  return Object.fromEntries(entries);
}

/** Characters of a stream that are held: the last lines before a crash say why. */
const tailLength = 4000;

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

export const exitOf = ({ signalCode, exitCode }: Exited): string =>
  signalCode === null ? `exit code ${exitCode}` : String(signalCode);

type Exited = Pick<Bun.Subprocess, "signalCode" | "exitCode">;

/** When a process started, which tells it from a later one with the same id; undefined where there is no such process. */
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

/** Of glibc, then of musl. */
const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const setParentDeathSignal = 1;
const sigkill = 9;

/**
 * Has the kernel end this process with the thread that started it, in a node its main thread; says whether
 * it will, as only Linux does. A parent that ended before is not noticed: look at its id before and after.
 */
export function endWithParentProcess(): boolean {
  const { i32, u64 } = FFIType;
  const prctl = { args: [i32, u64, u64, u64, u64], returns: i32 } as const;
  return inLibrary(
    { prctl },
    ({ prctl: call }) => call(setParentDeathSignal, sigkill, 0, 0, 0) === 0,
  );
}

function inLibrary<Fns extends Record<string, FFIFunction>>(
  functions: Fns,
  use: (symbols: Library<Fns>["symbols"]) => boolean,
): boolean {
  for (const name of libraries) {
    try {
      const { symbols, close } = dlopen(name, functions);
      const result = use(symbols);
      close();
      return result;
    } catch {
      // Another system's library.
    }
  }
  return false;
}

/** `sched_setattr`'s number on each kind of CPU. */
const setAttributes: Partial<Record<string, number>> = { x64: 314, arm64: 274 };
const [attributesBytes, resetOnFork] = [48, 1n];
/** Nanoseconds; a thread's own slice is some milliseconds. */
const shortSlice = 100_000n;

/**
 * Asks Linux to run this thread as soon as it wakes, also where every core computes: from 6.12 on, one with a
 * shorter slice of time goes first. Its priority is as it was, and so are threads that it starts. Says
 * whether the kernel was willing.
 */
export function wakeAtOnce(): boolean {
  const number = platform() === "linux" ? setAttributes[arch()] : undefined;
  const nice = getPriority();
  // The flag that leaves new threads as they are takes a negative number from them.
  if (number === undefined || nice < 0) return false;
  const bytes = new Uint8Array(attributesBytes);
  const attributes = new DataView(bytes.buffer);
  attributes.setUint32(0, attributesBytes, true);
  attributes.setBigUint64(8, resetOnFork, true);
  attributes.setInt32(16, nice, true);
  attributes.setBigUint64(24, shortSlice, true);
  const { i32, i64, u32, ptr } = FFIType;
  const functions = {
    sched_getscheduler: { args: [i32], returns: i32 },
    syscall: { args: [i64, i32, ptr, u32], returns: i64 },
  } as const;
  return inLibrary(
    functions,
    // Another policy than the usual one was chosen for the process, and stays.
    (library) => library.sched_getscheduler(0) === 0 && library.syscall(number, 0, bytes, 0) === 0n,
  );
}

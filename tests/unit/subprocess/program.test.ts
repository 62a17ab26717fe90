import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { getPriority, release } from "node:os";
import {
  engineEnvironment,
  exitOf,
  lastLine,
  tailOf,
  wakeAtOnce,
} from "../../../src/subprocess/program.ts";

const source = Bun.resolveSync("../../../src/subprocess/program.ts", import.meta.dir);

describe("the environment of native code", () => {
  test("has what the system, the GPU and the engine read", () => {
    const env = {
      PATH: "/bin",
      HOME: "/home/me",
      LC_ALL: "C",
      Path: "C:\\bin",
      LD_LIBRARY_PATH: "/opt/cuda/lib",
      CUDA_VISIBLE_DEVICES: "1",
      CUDA_PATH: "/opt/cuda",
      NVIDIA_VISIBLE_DEVICES: "all",
      HIP_VISIBLE_DEVICES: "0",
      HSA_OVERRIDE_GFX_VERSION: "10.3.0",
      GGML_VK_VISIBLE_DEVICES: "0",
      VK_ICD_FILENAMES: "/etc/vulkan/icd.d/radeon.json",
      NODE_LLAMA_CPP_GPU: "cuda",
      OMP_NUM_THREADS: "2",
      PADDOCK_CACHE_DIR: "/var/cache/paddock",
    };
    expect(engineEnvironment(env)).toEqual(env);
  });

  test("has no key, no token and nothing else of the node's", () => {
    const env = {
      PADDOCK_API_KEYS: "a-long-secret",
      PADDOCK_VECTORSTORE_API_KEY: "another",
      HF_TOKEN: "hf_secret",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer x",
      HTTPS_PROXY: "http://user:password@proxy",
      AWS_SECRET_ACCESS_KEY: "x",
      GGML_SOMETHING_TOKEN: "x",
      EMPTY: undefined,
    };
    expect(engineEnvironment(env)).toEqual({});
  });
});

const streamOf = (...chunks: string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

describe("the last output of a process", () => {
  test("is the end of the stream, however long it was", async () => {
    const tail = await tailOf(streamOf("x".repeat(10_000), "\nfirst\n", "second\n"));
    expect([tail.length, tail.slice(-14)]).toEqual([3999, "x\nfirst\nsecond"]);
  });

  test("is nothing where it wrote nothing", async () => {
    expect(await tailOf(streamOf())).toBe("");
  });

  test("ends in its last line, whatever white space follows", () => {
    expect([lastLine("a\nb\n\n"), lastLine("a"), lastLine("")]).toEqual(["b", "a", ""]);
  });

  test("ends in its reason, where the stack of a crash follows", () => {
    const crash = [
      "CUDA error: the provided PTX was compiled with an unsupported toolchain",
      "/opt/libggml-base.so(ggml_abort+0x15a)[0x7f2f1c0d2a3a]",
      "/usr/local/bin/bun[0x3bac17c]",
    ];
    expect(lastLine(crash.join("\n"))).toBe(crash[0] ?? "");
    expect(lastLine("a[0x1]\nb[0x2]")).toBe("b[0x2]");
  });
});

describe("the exit of a process", () => {
  test("is its signal, else its code", async () => {
    const killed = Bun.spawn(["sleep", "60"]);
    killed.kill("SIGKILL");
    const failed = Bun.spawn(["sh", "-c", "exit 3"]);
    await Promise.all([killed.exited, failed.exited]);
    expect([exitOf(killed), exitOf(failed)]).toEqual(["SIGKILL", "exit code 3"]);
  });
});

const scheduling = "/proc/self/sched";
/** Kernels that give a thread a slice of its own, and tell it. */
const tellsSlices = existsSync(scheduling) && !/^([0-5]\.|6\.(\d|1[01])(\D|$))/.test(release());

test("a thread that wakes at once keeps its priority", () => {
  const before = getPriority();
  const isWilling = wakeAtOnce();
  expect(getPriority()).toBe(before);
  if (!isWilling || !tellsSlices) return;
  expect(readFileSync(scheduling, "utf8")).toMatch(/^se\.slice +: +100000$/m);
});

test.skipIf(Bun.which("chrt") === null)("a thread keeps a policy that was chosen for it", () => {
  const call = `import { wakeAtOnce } from ${JSON.stringify(source)}; console.log(wakeAtOnce());`;
  const { stdout } = Bun.spawnSync(["chrt", "-b", "0", process.execPath, "-e", call]);
  expect(stdout.toString()).toBe("false\n");
});

/** This program, run again in a process of its own for native code: its command line and its environment. */

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

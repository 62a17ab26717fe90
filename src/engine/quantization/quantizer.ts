/** llama.cpp's own quantiser, called in the shared library that node-llama-cpp brings. Blocks: run it in a process of its own. */
import { dlopen, FFIType, type Pointer, ptr } from "bun:ffi";
import { readdir } from "node:fs/promises";
import { arch, platform } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Quantization } from "../../core/models/model-files.ts";
import { nativeFolder } from "../../packaging/native-libraries.ts";
import { readGgufHeader } from "../gguf/header.ts";
import { convertTwoBitWeights, hasTwoBitWeights } from "./two-bit-weights.ts";

const fileTypes: Record<Quantization, number> = {
  f16: 1,
  q4_0: 2,
  q8_0: 7,
  q4_k_s: 14,
  q4_k_m: 15,
  q5_k_m: 17,
  q6_k: 18,
};

/** Of the release whose parameter struct has the layout below; any other is refused. */
const knownLibrary = /^(?:lib)?llama\.v0\.5\.0\.(?:so|dylib|dll)$/;
export const baseLibrary = /^(?:lib)?ggml-base\.(?:so|dylib|dll)$/;

const packages: Readonly<Record<string, string>> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "darwin-arm64": "mac-arm64-metal",
  "darwin-x64": "mac-x64",
  "win32-x64": "win-x64",
};

export async function quantize(
  input: string,
  output: string,
  { type, threads }: { type: Quantization; threads: number },
): Promise<void> {
  const header = await readGgufHeader(input);
  if (type === "q4_0" && hasTwoBitWeights(header)) {
    return await convertTwoBitWeights(input, output, header, await findLibrary(baseLibrary));
  }
  const library = dlopen(await findLibrary(knownLibrary), {
    llama_backend_init: { args: [], returns: FFIType.void },
    llama_model_quantize: {
      args: [FFIType.ptr, FFIType.ptr, FFIType.ptr],
      returns: FFIType.u32,
    },
  });
  const given = [toCString(input), toCString(output), parameters(fileTypes[type], threads)];
  try {
    library.symbols.llama_backend_init();
    const failed = withPointers(given, library.symbols.llama_model_quantize);
    if (failed !== 0) throw new Error(`llama.cpp's quantiser failed (${failed})`);
  } finally {
    library.close();
  }
}

export async function findLibrary(file: RegExp): Promise<string> {
  const name = packages[`${platform()}-${arch()}`];
  if (name === undefined) throw new Error(`there is no quantiser for ${platform()} on ${arch()}`);
  const carried = nativeFolder();
  const folder =
    carried === undefined
      ? fileURLToPath(new URL("../bins", import.meta.resolve(`@node-llama-cpp/${name}`)))
      : join(carried, name);
  const files = await readdir(folder, { recursive: true });
  const found = files.find((path) => file.test(basename(path)));
  if (found !== undefined) return join(folder, found);
  throw new Error(`the package ${name} has no library of llama.cpp that the quantiser knows`);
}

/** GGML_TYPE_COUNT: no type is asked for. */
const unset = 43;
/** Larger than the struct, whose end holds pointers and counts that are all zero here. */
const parameterBytes = 128;

function parameters(fileType: number, threads: number): Uint8Array {
  const bytes = new Uint8Array(parameterBytes);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, threads, true);
  view.setInt32(4, fileType, true);
  view.setInt32(8, unset, true); // type of the output tensor
  view.setInt32(12, unset, true); // type of the token embeddings
  view.setUint8(16, 1); // allow_requantize
  view.setUint8(17, 1); // quantize_output_tensor
  return bytes;
}

/** Hands the addresses to `use`. An address keeps nothing alive: the collector could free a buffer that native code reads. */
export function withPointers<Result>(
  buffers: readonly Uint8Array[],
  use: (...pointers: Pointer[]) => Result,
): Result {
  try {
    return use(...buffers.map((buffer) => ptr(buffer)));
  } finally {
    // Used after the call, so that nothing before it may be collected.
    for (const buffer of buffers) buffer.fill(0);
  }
}

export const toCString = (text: string): Uint8Array => new TextEncoder().encode(`${text}\0`);

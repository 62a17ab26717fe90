/** What llama.cpp says of the CPU library that it chose for this machine. */
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

/** Like `CPU : AVX512 = 1 | AMX_INT8 = 1 | REPACK = 1 | `. */
export async function readSystemInfo(): Promise<string> {
  const llama = await getLlama({
    build: "never",
    gpu: false,
    logLevel: LlamaLogLevel.disabled,
    progressLogs: false,
  });
  const { systemInfo } = llama;
  await llama.dispose();
  return systemInfo;
}

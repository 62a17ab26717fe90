import { describe, expect, test } from "bun:test";
import { engineEnvironment } from "../../../src/subprocess/program.ts";

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

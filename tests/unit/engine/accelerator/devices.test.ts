import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type DevicePlace, findDevices } from "../../../../src/engine/accelerator/devices.ts";
import { tempDir } from "../../../support/temp-dir.ts";

/** A machine with these files. */
async function machineWith(
  files: Record<string, string>,
  rest: Partial<Omit<DevicePlace, "root">> = {},
) {
  const folder = await tempDir();
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder.path, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const place = { platform: "linux", arch: "x64", env: {}, root: folder.path, ...rest };
  return { place, folder, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const backendsOf = (place: DevicePlace) => findDevices(place).map(({ backend }) => backend);

const nvidia = { "proc/driver/nvidia/version": "NVRM version: NVIDIA  580.1\nGCC version: 12\n" };
const loader = { "usr/lib/x86_64-linux-gnu/libvulkan.so.1": "" };
const intel = { "usr/share/vulkan/icd.d/intel_icd.json": "{}" };
const software = { "usr/share/vulkan/icd.d/lvp_icd.json": "{}" };
const node = { "dev/dri/renderD128": "" };

describe("the devices of a machine", () => {
  test("are none where there is no driver", async () => {
    await using machine = await machineWith({});
    expect(findDevices(machine.place)).toEqual([]);
  });

  test("are NVIDIA's by its kernel module, whose version is the driver's", async () => {
    await using machine = await machineWith(nvidia);
    expect(findDevices(machine.place)).toEqual([
      { backend: "cuda", driver: "NVRM version: NVIDIA 580.1" },
    ]);
  });

  test("are NVIDIA's with its CUDA, which may be installed later", async () => {
    const runtime = { "usr/local/cuda/lib64/libcudart.so.13": "1" };
    await using machine = await machineWith({ ...nvidia, ...runtime });
    expect(findDevices(machine.place)).toEqual([
      {
        backend: "cuda",
        driver: expect.stringMatching(/^NVRM version: NVIDIA 580\.1, libcudart\.so\.13 1 \d+$/),
      },
    ]);
  });

  test("are NVIDIA's by its library where there is no module, also where the linker is told to look", async () => {
    await using wsl = await machineWith({ "usr/lib/wsl/lib/libcuda.so.1": "library" });
    expect(findDevices(wsl.place)).toEqual([
      { backend: "cuda", driver: expect.stringMatching(/^libcuda\.so\.1 7 \d+$/) },
    ]);
    await using empty = await machineWith({});
    const env = { LD_LIBRARY_PATH: `:${join(wsl.folder.path, "usr/lib/wsl/lib")}` };
    expect(backendsOf({ ...empty.place, env })).toEqual(["cuda"]);
  });

  test("are Vulkan's with a loader, a driver and a device, all three", async () => {
    await using whole = await machineWith({ ...loader, ...intel, ...node });
    expect(findDevices(whole.place)).toEqual([
      { backend: "vulkan", driver: expect.stringContaining("intel_icd.json") },
    ]);
    for (const files of [
      { ...intel, ...node },
      { ...loader, ...node },
      { ...loader, ...intel },
      { ...loader, ...software, ...node },
    ]) {
      await using machine = await machineWith(files);
      expect(findDevices(machine.place)).toEqual([]);
    }
    await using both = await machineWith({ ...nvidia, ...loader, ...intel });
    expect(backendsOf(both.place)).toEqual(["cuda", "vulkan"]);
  });

  test("are Vulkan's where its own variables name a driver", async () => {
    await using machine = await machineWith({ ...loader, "opt/lvp_icd.json": "{}" });
    const named = join(machine.folder.path, "opt/lvp_icd.json");
    expect(backendsOf({ ...machine.place, env: { VK_DRIVER_FILES: named } })).toEqual(["vulkan"]);
    expect(backendsOf({ ...machine.place, env: { VK_ICD_FILENAMES: "/nowhere" } })).toEqual([]);
  });

  test("change their driver's name with its files", async () => {
    await using machine = await machineWith({ ...loader, ...intel, ...node });
    const before = findDevices(machine.place);
    await writeFile(join(machine.folder.path, "usr/share/vulkan/icd.d/intel_icd.json"), "{ }");
    expect(findDevices(machine.place)).not.toEqual(before);
  });

  test("are Metal's on Apple silicon, and none on other architectures", async () => {
    await using machine = await machineWith({ ...nvidia, ...loader, ...intel });
    const { place } = machine;
    expect(backendsOf({ ...place, platform: "darwin", arch: "arm64" })).toEqual(["metal"]);
    expect(backendsOf({ ...place, platform: "darwin" })).toEqual([]);
    expect(backendsOf({ ...place, arch: "arm64" })).toEqual([]);
  });
});

/** The platforms that an executable is made for, with what packages call each. */
import { arch, platform } from "node:os";

export interface Target {
  name: string;
  bun: Bun.Build.CompileTarget;
  /** The package of llama.cpp's libraries, under @node-llama-cpp/. */
  llama: string;
  /** Folder of usearch's prebuilt addon. */
  usearch: string;
  os: string;
  cpu: string;
  extension: string;
}

const unix = { extension: "" };

const targets: readonly Target[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64",
    llama: "linux-x64",
    usearch: "linux-x64",
    os: "linux",
    cpu: "x64",
    ...unix,
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-arm64",
    llama: "linux-arm64",
    usearch: "linux-arm64",
    os: "linux",
    cpu: "arm64",
    ...unix,
  },
  {
    name: "darwin-arm64",
    bun: "bun-darwin-arm64",
    llama: "mac-arm64-metal",
    usearch: "darwin-arm64+x64",
    os: "darwin",
    cpu: "arm64",
    ...unix,
  },
  {
    name: "darwin-x64",
    bun: "bun-darwin-x64",
    llama: "mac-x64",
    usearch: "darwin-arm64+x64",
    os: "darwin",
    cpu: "x64",
    ...unix,
  },
  {
    name: "windows-x64",
    bun: "bun-windows-x64",
    llama: "win-x64",
    usearch: "win32-x64",
    os: "win32",
    cpu: "x64",
    extension: ".exe",
  },
];

export function findTarget(name: string | undefined): Target {
  const wanted = name ?? `${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  const target = targets.find((candidate) => candidate.name === wanted);
  if (target !== undefined) return target;
  const names = targets.map((candidate) => candidate.name).join(", ");
  throw new Error(`There is no target '${wanted}'. There are: ${names}.`);
}

/** The control groups (cgroups) of this process: each of them, and each parent, may set a limit. */
import { readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";

/** Where the kernel shows control groups. */
export interface ControlGroupPlaces {
  /** The file that names the process's own groups. */
  membership: string;
  /** The folder that the hierarchies are mounted in. */
  mount: string;
}

const kernelPlaces: ControlGroupPlaces = {
  membership: "/proc/self/cgroup",
  mount: "/sys/fs/cgroup",
};

/** A group's folder, and which version's files it has. */
export interface ControlGroup {
  version: 1 | 2;
  folder: string;
}

/** The text of a file; undefined where it does not exist or may not be read. */
export const readText = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch(() => undefined);

/** The groups that limit a resource, the process's own first. */
export async function controlGroups(
  controller: "cpu" | "memory",
  { membership, mount }: ControlGroupPlaces = kernelPlaces,
): Promise<ControlGroup[]> {
  return groupsIn((await readText(membership)) ?? "", controller, mount);
}

/**
 * From the text of `/proc/self/cgroup`. Groups outside of a container are not visible in it and have
 * no folder; the walk up goes on past them.
 */
export function groupsIn(
  text: string,
  controller: "cpu" | "memory",
  mount: string,
): ControlGroup[] {
  const groups: ControlGroup[] = [];
  for (const line of text.split("\n")) {
    const [, hierarchy, names = "", path = ""] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (hierarchy === undefined) continue;
    if (hierarchy === "0" && names === "") {
      // On a hybrid system version 2 is mounted at `unified`; files that are missing there limit nothing.
      for (const root of [mount, join(mount, "unified")]) groups.push(...upFrom(root, path, 2));
    } else if (names.split(",").includes(controller)) {
      // `cpu,cpuacct` is mounted under its whole name, or under one that links to it.
      for (const name of new Set([names, controller])) {
        groups.push(...upFrom(join(mount, name), path, 1));
      }
    }
  }
  return groups.length > 0 ? groups : [{ version: 2, folder: mount }];
}

function upFrom(root: string, own: string, version: 1 | 2): ControlGroup[] {
  const groups: ControlGroup[] = [];
  for (let path = posix.normalize(own); ; path = dirname(path)) {
    groups.push({ version, folder: join(root, path === "/" ? "" : path) });
    if (path === dirname(path)) return groups;
  }
}

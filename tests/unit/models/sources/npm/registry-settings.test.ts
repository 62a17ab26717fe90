import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Hub } from "../../../../../src/models/sources/hub-reference.ts";
import { registryFrom } from "../../../../../src/models/sources/npm/registry-settings.ts";
import { rejectionOf } from "../../../../support/rejection.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

interface Files {
  env?: Record<string, string>;
  npmrc?: string;
  bunfig?: string;
  userNpmrc?: string;
  userBunfig?: string;
}

async function registryOf(name: string, files: Files = {}): Promise<Hub> {
  await using folder = await tempDir();
  const [project, home] = [join(folder.path, "project"), join(folder.path, "home")];
  for (const path of [project, home]) await mkdir(path);
  const write = async (path: string, text?: string): Promise<void> => {
    if (text !== undefined) await writeFile(path, text);
  };
  await write(join(project, ".npmrc"), files.npmrc);
  await write(join(project, "bunfig.toml"), files.bunfig);
  await write(join(home, ".npmrc"), files.userNpmrc);
  await write(join(home, ".bunfig.toml"), files.userBunfig);
  return await registryFrom({ HOME: home, ...files.env }, project)(name);
}

describe("the registry of a package", () => {
  test("is what npm itself says where nothing is configured", async () => {
    await using folder = await tempDir();
    const npm = join(folder.path, "npm");
    await writeFile(
      npm,
      '#!/bin/sh\n[ "$*" = "config get registry" ] && echo https://npm.example/\n',
      {
        mode: 0o755,
      },
    );
    const env = { PATH: `${folder.path}:/usr/bin:/bin` };
    expect(await registryOf("weights", { env })).toEqual({ endpoint: "https://npm.example" });
  });

  test("is asked for where nothing is configured and there is no npm", async () => {
    const error = await rejectionOf(registryOf("weights", { env: { PATH: "" } }));
    expect(String(error)).toContain("Set NPM_CONFIG_REGISTRY");
  });

  test("is shown a name and a password, from its address or from npm's file", async () => {
    const env = { BUN_CONFIG_REGISTRY: "https://ada:p%40ss@npm.example/r" };
    expect(await registryOf("w", { env })).toEqual({
      endpoint: "https://npm.example/r",
      basic: btoa("ada:p@ss"),
    });
    const plain = { BUN_CONFIG_REGISTRY: "https://npm.example/r" };
    const userNpmrc = `//npm.example/:username=ada\n//npm.example/:_password=${btoa("pass")}`;
    expect(await registryOf("w", { env: plain, userNpmrc })).toMatchObject({
      basic: btoa("ada:pass"),
    });
    const auth = "//npm.example/r/:_auth=YTpi";
    expect(await registryOf("w", { env: plain, userNpmrc: auth })).toMatchObject({ basic: "YTpi" });
  });

  test("is the environment's before the project's, and that before the user's", async () => {
    const userNpmrc = "registry=https://user.example/";
    const npmrc = "; mine\nregistry = https://project.example/npm/";
    const env = { npm_config_registry: "https://env.example" };
    expect(await registryOf("w", { userNpmrc })).toEqual({ endpoint: "https://user.example" });
    expect(await registryOf("w", { userNpmrc, npmrc })).toEqual({
      endpoint: "https://project.example/npm",
    });
    expect(await registryOf("w", { userNpmrc, npmrc, env })).toEqual({
      endpoint: "https://env.example",
    });
  });

  test("is that of its scope, in npm's file and in Bun's", async () => {
    const npmrc = "registry=https://all.example\n@made:registry=https://made.example";
    const bunfig = `[install.scopes]\nmade = { url = "https://bun.example/", token = "$\{TOKEN}" }`;
    expect(await registryOf("@made/w", { npmrc })).toEqual({ endpoint: "https://made.example" });
    expect(await registryOf("@other/w", { npmrc })).toEqual({ endpoint: "https://all.example" });
    expect(await registryOf("@made/w", { npmrc, bunfig, env: { TOKEN: "t" } })).toEqual({
      endpoint: "https://bun.example",
      token: "t",
    });
  });

  test("is shown the token that is kept for its address, and no other", async () => {
    const userNpmrc = [
      "registry=https://one.example/npm/",
      "//one.example/npm/:_authToken=first",
      "//one.example:8443/:_authToken=other-port",
      `//two.example/:_authToken=$\{SECRET}`,
    ].join("\n");
    expect(await registryOf("w", { userNpmrc })).toMatchObject({ token: "first" });
    const env = { NPM_CONFIG_REGISTRY: "https://two.example/some/path", SECRET: "second" };
    expect(await registryOf("w", { userNpmrc, env })).toMatchObject({ token: "second" });
    const elsewhere = { NPM_CONFIG_REGISTRY: "https://one.example.org/npm" };
    expect(await registryOf("w", { userNpmrc, env: elsewhere })).toEqual({
      endpoint: "https://one.example.org/npm",
    });
  });

  test("is the user's of Bun, and what is no TOML says nothing", async () => {
    const userBunfig = `[install]\nregistry = "https://bun.example"`;
    expect(await registryOf("w", { userBunfig, bunfig: "][" })).toEqual({
      endpoint: "https://bun.example",
    });
  });
});

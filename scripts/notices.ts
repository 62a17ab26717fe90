/** `bun scripts/notices.ts`: the licences of what comes in no package of its own, for src/packaging/notices; run after an update of Bun, node-llama-cpp or unpdf. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const folder = join(root, "src", "packaging", "notices");
const inPackages = (...path: string[]): string => join(root, "node_modules", ...path);

/** Of llama.cpp's own files, those whose code its libraries hold. */
const llamaLicenses =
  /^(?:LICENSE|licenses\/LICENSE-jsonhpp|vendor\/(?:cpp-httplib|hash\/[^/]+)\/LICEN[CS]E.*)$/;

// What Bun links is listed on a page of its documentation, which its types carry.
const page = await readFile(inPackages("bun-types", "docs", "project", "license.mdx"), "utf8");
await write("bun.md", page.replace(/^---\n.*?\n---\n/s, "").trim());

await write("llama.cpp.txt", await llamaNotice());

// PDF.js has the licence as it is published, and no file of it comes with unpdf.
const apache = await readFile(inPackages("@opentelemetry", "api", "LICENSE"), "utf8");
await write(
  "pdf.js.txt",
  `PDF.js, https://mozilla.github.io/pdf.js/, Copyright Mozilla Foundation\n\n${apache.trim()}`,
);

async function llamaNotice(): Promise<string> {
  const from = inPackages("node-llama-cpp", "llama");
  const { release } = JSON.parse(await readFile(join(from, "binariesGithubRelease.json"), "utf8"));
  const clone = await mkdtemp(join(tmpdir(), "paddock-notices-"));
  try {
    await git("clone", "--quiet", "--bare", join(from, "gitRelease.bundle"), clone);
    const files = (await git("-C", clone, "ls-tree", "-r", "--name-only", "HEAD")).split("\n");
    const parts = [`llama.cpp ${release}, and what its libraries hold of others`];
    for (const file of files.filter((name) => llamaLicenses.test(name))) {
      parts.push(`--- ${file}\n\n${(await git("-C", clone, "show", `HEAD:${file}`)).trim()}`);
    }
    return parts.join("\n\n");
  } finally {
    await rm(clone, { recursive: true, force: true });
  }
}

async function git(...args: string[]): Promise<string> {
  const child = Bun.spawn(["git", ...args], { stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`git ${args[0]} failed`);
  return text;
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), `${text}\n`);
  console.log(`Wrote ${join(folder, name)}`);
}

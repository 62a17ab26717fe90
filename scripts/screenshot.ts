/** `bun run screenshot`: takes docs/images/page.png from a real node with the starter models. */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { ask, closeBrowser, visit } from "../tests/support/browser.ts";
import { runPaddock, servePaddock } from "../tests/support/paddock-process.ts";
import { tempDir } from "../tests/support/temp-dir.ts";

const outfile = join(import.meta.dir, "..", "docs", "images", "page.png");
const patienceMs = 300_000;
const mostBytes = 200_000;

/** The handbook's own example, which the starter model answers well. */
const note = "# Boiler\n\nThe pressure of the boiler should stay between 1.2 and 1.8 bar.\n";
const plain = ["What is the capital of France?"];
const grounded = "What pressure should the boiler have?";

await takePicture();
await closeBrowser();
const { size } = await stat(outfile);
console.log(`${outfile}: ${(size / 1e3).toFixed(0)} kB`);
if (size > mostBytes) throw new Error(`The picture is larger than ${mostBytes / 1e3} kB.`);

async function takePicture(): Promise<void> {
  await using folder = await tempDir();
  const options = { cwd: folder.path };
  await writeFile(join(folder.path, "paddock.toml"), "[vectorstore]\nhandbook = false\n");
  await mkdir(join(folder.path, "notes"));
  await writeFile(join(folder.path, "notes", "house.md"), note);
  const { code, stderr } = await runPaddock(["ingest", "notes"], options);
  if (code !== 0) throw new Error(stderr);
  await using node = await servePaddock(options);
  await using visited = await visit(node.origin, { viewport: { width: 1280, height: 640 } });
  const { page } = visited;
  page.setDefaultTimeout(patienceMs);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Temperature").fill("0");
  await page.getByLabel("Most tokens").fill("40");
  await page.getByRole("button", { name: "Settings" }).click();
  for (const question of plain) await answered(page, question, false);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("System prompt").fill("");
  await page.getByRole("button", { name: "Settings" }).click();
  await answered(page, grounded, true);
  await mkdir(dirname(outfile), { recursive: true });
  await page.screenshot({ path: outfile });
}

async function answered(page: Page, question: string, fromDocuments: boolean): Promise<void> {
  await page
    .getByRole("navigation")
    .getByRole("button", { name: "New conversation" })
    .first()
    .click();
  const state = fromDocuments ? "on" : "off";
  await page.getByRole("radio", { name: state, exact: true }).check();
  await ask(page, question);
  await page.locator("[aria-busy=false] footer").waitFor();
  console.log(`${question}\n  ${await page.locator(".markdown").last().textContent()}`);
}

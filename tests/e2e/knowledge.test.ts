/** From a folder of every format to the right passages, with the starter embedding model. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeExtensions, readableExtensions } from "../../src/ingest/readers/formats.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { docxOf, pdfOf } from "../support/documents.ts";
import { epubOf } from "../support/epub-file.ts";
import { paragraph, pptxOf, row, shape, title, xlsxOf } from "../support/office-files.ts";
import { runPaddock, type ServingPaddock, servePaddock } from "../support/paddock-process.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";

const config = `
[vectorstore]
handbook = false
[retrieval]
mode = "hybrid"
[[models]]
name = "minilm"
type = "embedding"
source = "starter:embedding"
`;

const files: Record<string, string | Uint8Array> = {
  "house.md":
    "---\ntitle: The house\n---\n\n## Heating\n\nThe boiler is a Viessmann Vitodens 200. Its pressure should stay between 1.2 and 1.8 bar.\n\n## Garden\n\nThe hedge is cut in the last week of September.\n\n| Tool | Where it hangs |\n|---|---|\n| Rake | left wall of the shed |\n| Saw | above the bench |\n",
  "recipe.txt":
    "Grandmother's apple cake: four Boskoop apples, 250 grams of flour, and a pinch of cardamom. It bakes for 50 minutes at 180 degrees.\n",
  "trip.html":
    "<html><head><title>Our trip</title><script>alert('x')</script></head><body><nav>Home</nav><h1>Norway</h1><p>The ferry from Hirtshals to Kristiansand takes three hours and fifteen minutes.</p></body></html>",
  "people.csv":
    'name,text\nAda,"Ada Lovelace wrote notes on the Analytical Engine."\nGrace,"Grace Hopper built the first compiler, A-0."\n',
  "log.jsonl":
    '{"title":"Server room","text":"The UPS battery was replaced on the third of March."}\n{"text":"The fire drill is every first Tuesday of the quarter."}\n',
  "contract.pdf": await pdfOf([
    { title: "Rental agreement" },
    { heading: "Deposit" },
    "The deposit is three monthly rents and is kept on a separate savings account.",
    { heading: "Pets" },
    "Keeping one dog of up to twenty kilograms is allowed.",
  ]),
  "minutes.docx": await docxOf([
    { heading: "Board meeting", level: 1 },
    { heading: "Budget", level: 2 },
    "The board granted 40,000 euros for the new roof of the sports hall.",
    { heading: "Elections", level: 2 },
    "Marta Kowalska was elected treasurer for two years.",
  ]),
  "talk.pptx": await pptxOf([
    { shapes: title("Beekeeping") + shape(paragraph("A hive holds sixty thousand bees."), "body") },
    {
      shapes: title("Harvest"),
      notes: shape(paragraph("The honey is spun in the second week of July."), "body"),
    },
  ]),
  "prices.xlsx": await xlsxOf([
    {
      name: "Workshop",
      rows:
        row(1, "Service", "Price in euros") +
        row(2, "Change of tyres", 49) +
        row(3, "Polishing of the varnish", 189),
    },
  ]),
  "lighthouse.epub": await epubOf({
    pages: {
      "one.xhtml":
        "<h1>The keeper</h1><p>Old Thorvald lit the lamp of Skagen every evening for forty years.</p>",
    },
  }),
  "visa.eml":
    "From: Consulate <visa@example.org>\r\nTo: bob@example.org\r\nSubject: Your visa\r\nDate: Fri, 1 Mar 2024 14:30:00 +0100\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nYour passport can be fetched at counter =\r\n12 from Monday.\r\n",
  "backoff.ts":
    "import { sleep } from './sleep.ts';\n\nclass Courier {\n  /** Waits between two deliveries of a webhook, twice as long each time. */\n  async retry(attempt: number): Promise<void> {\n    await sleep(2 ** attempt * 250);\n  }\n}\n",
};

const questions: readonly [
  question: string,
  document: string,
  heading: string | null,
  fact: string,
][] = [
  ["What pressure should the boiler have?", "docs/house.md", "The house > Heating", "1.8 bar"],
  ["When is the hedge cut?", "docs/house.md", "The house > Garden", "September"],
  ["Where does the rake hang?", "docs/house.md", "The house > Garden", "left wall of the shed"],
  ["How long does the apple cake bake?", "docs/recipe.txt", null, "50 minutes"],
  ["How long is the ferry to Norway?", "docs/trip.html", "Norway", "three hours and fifteen"],
  ["Who built the first compiler?", "docs/people.csv", null, "Grace Hopper"],
  ["When was the UPS battery replaced?", "docs/log.jsonl", "Server room", "third of March"],
  ["How often is there a fire drill?", "docs/log.jsonl", null, "first Tuesday"],
  ["How high is the deposit?", "docs/contract.pdf", "Deposit", "three monthly"],
  ["May I keep a dog?", "docs/contract.pdf", "Pets", "twenty kilograms"],
  [
    "How much money is there for the roof?",
    "docs/minutes.docx",
    "Board meeting > Budget",
    "40,000",
  ],
  ["How many bees live in a hive?", "docs/talk.pptx", "Beekeeping", "sixty thousand"],
  ["When is the honey spun?", "docs/talk.pptx", "Harvest > Notes", "July"],
  ["What does polishing the varnish cost?", "docs/prices.xlsx", "Workshop", "189"],
  ["Who lit the lamp of the lighthouse?", "docs/lighthouse.epub", "The keeper", "Thorvald"],
  ["Where can I fetch my passport?", "docs/visa.eml", "Your visa", "counter 12"],
  ["How is the delivery of a webhook retried?", "docs/backoff.ts", "class Courier", "2 ** attempt"],
  ["Who is the treasurer?", "docs/minutes.docx", "Board meeting > Elections", "Marta Kowalska"],
];

let folder: TempDir;
let node: ServingPaddock;

beforeAll(async () => {
  folder = await tempDir();
  await writeFile(join(folder.path, "paddock.toml"), config);
  await mkdir(join(folder.path, "docs"));
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder.path, "docs", name), content);
  }
  const { code, stdout, stderr } = await runPaddock(["ingest", "docs"], { cwd: folder.path });
  expect([code, stdout]).toEqual([0, expect.stringContaining("of 12 documents (12 new)")]);
  expect(stderr).not.toMatch(/warn/i);
  node = await servePaddock({ cwd: folder.path });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

describe("a folder of every format", () => {
  test.each(questions)("answers: %s", async (content, document, heading, fact) => {
    const response = await fetch(`${node.origin}/v1/retrieve`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "minilm",
        include_metadata: true,
        messages: [{ role: "user", content }],
      }),
    });
    expect(response.headers.get("x-paddock-retrieval")).toBe("hybrid");
    const [best] = (await decode(RetrieveResult, response)).points;
    expect(best?.metadata).toMatchObject({ document, heading: heading ?? null });
    expect(best?.source).toContain(fact);
  });

  test("has a file for each kind that is read", () => {
    const same: Record<string, string> = {
      ".markdown": ".md",
      ".mdx": ".md",
      ".text": ".txt",
      ".rst": ".txt",
      ".adoc": ".txt",
      ".org": ".txt",
      ".htm": ".html",
      ".xhtml": ".html",
      ".tsv": ".csv",
      ".ndjson": ".jsonl",
      ".pptm": ".pptx",
      ".ppsx": ".pptx",
      ".xlsm": ".xlsx",
      ...Object.fromEntries(codeExtensions.map((extension) => [extension, ".ts"])),
    };
    const kinds = Object.keys(files).map((name) => name.slice(name.lastIndexOf(".")));
    const without = readableExtensions.filter((name) => !kinds.includes(same[name] ?? name));
    expect(without).toEqual([]);
  });
});

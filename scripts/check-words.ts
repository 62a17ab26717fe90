/**
 * `bun scripts/check-words.ts [--src]`: one word for each concept. Finds the words that this
 * repository does not use in docs/ and README.md, and with --src in src/ and in what is generated
 * from it.
 */
import { join, relative, resolve } from "node:path";
import { Glob } from "bun";

interface Rule {
  /** Whole words, in prose and as a part of a name (`keptFiles`, `isKept`). */
  words: string;
  instead: string;
}

const rules: readonly Rule[] = [
  { words: "(?:take|takes|taken|taking|took)[ -]in", instead: "ingest, ingested" },
  { words: "kept", instead: "stored, saved" },
  { words: "elsewhere", instead: "upstream, remote server" },
  { words: "behind the requests", instead: "in the background" },
  { words: "anew", instead: "again, retry, rebuild, recreate" },
  { words: "ask(?:s|ed|ing)? again", instead: "retry, try again" },
  { words: "refused by name", instead: "rejected, refused with 400" },
  { words: "amid", instead: "during" },
  { words: "whoever", instead: "a caller, a client" },
  { words: "mostly", instead: "usually" },
  { words: "transcod(?:e|es|ed|ing|er)", instead: "quantize, convert" },
  { words: "better[ -]forms?", instead: "quantization" },
  { words: "where nothing is said", instead: "default is …" },
];

interface Exception {
  /** A glob of paths from the root. */
  files: string;
  /** The text that may stand there; a match inside it is allowed. */
  text: RegExp;
  reason: string;
}

const exceptions: readonly Exception[] = [
  {
    files: "{src/config/**,src/node/node-settings.ts,docs/{configuration,models,scaling}.md}",
    text: /\btranscode\b/,
    reason: "a configuration key that exists: [[models]] transcode",
  },
];

/** What scripts write into a page, or whole pages: their words come from src. */
const generatedPart = /^<!-- (?<name>[\w-]+) -->$.*?^<!-- \/\k<name> -->$/gms;
const generatedPages = new Glob("docs/reference/*-fields.md");
const textFiles = new Glob("**/*.{ts,tsx,md,css,html,json}");
const withoutProse = new Glob("{**/*-vectors.json,src/web/**/*.svg}");

const root = resolve(import.meta.dir, "..");

interface Finding {
  file: string;
  line: number;
  word: string;
  instead: string;
}

/** Whole words, capital or not, or a part of a name that begins with a capital (`isKept`). */
const patterns = rules.map(({ words, instead }) => {
  const capital = words.replace(/[a-z]/, (letter) => letter.toUpperCase());
  const pattern = new RegExp(
    `(?:(?<![A-Za-z])(?:${words}|${capital})|(?<=[a-z])${capital})(?![a-z])`,
    "g",
  );
  return { pattern, instead };
});

/** The findings in a text; a generated part counts where the words of src do. */
export function findingsIn(file: string, text: string, withGenerated: boolean): Finding[] {
  const own = withGenerated
    ? text
    : text.replace(generatedPart, (part) => part.replace(/[^\n]/g, ""));
  const allowed = exceptions.filter(({ files }) => new Glob(files).match(file));
  return own
    .split("\n")
    .flatMap((line, at) =>
      patterns.flatMap(({ pattern, instead }) =>
        [...line.matchAll(pattern)]
          .filter((match) => !allowed.some((one) => covers(one.text, line, match)))
          .map(([word]) => ({ file, line: at + 1, word, instead })),
      ),
    );
}

function covers(allowed: RegExp, line: string, { index, 0: word }: RegExpExecArray): boolean {
  return [...line.matchAll(new RegExp(allowed.source, "g"))].some(
    (one) => one.index <= index && index + word.length <= one.index + one[0].length,
  );
}

async function filesOf(withSource: boolean): Promise<string[]> {
  const folders = withSource ? ["docs", "src"] : ["docs"];
  const found = folders.flatMap((folder) =>
    [...textFiles.scanSync(join(root, folder))].map((path) =>
      relative(root, join(root, folder, path)),
    ),
  );
  return ["README.md", ...found]
    .filter((path) => !withoutProse.match(path))
    .filter((path) => withSource || !generatedPages.match(path))
    .sort();
}

if (import.meta.main) {
  const withSource = process.argv.includes("--src");
  const findings: Finding[] = [];
  for (const file of await filesOf(withSource)) {
    findings.push(...findingsIn(file, file, true).map((finding) => ({ ...finding, line: 0 })));
    findings.push(...findingsIn(file, await Bun.file(join(root, file)).text(), withSource));
  }
  for (const { file, line, word, instead } of findings) {
    console.error(`${file}${line === 0 ? "" : `:${line}`}: "${word}"; write: ${instead}`);
  }
  if (findings.length > 0) {
    console.error(`${findings.length} words of scripts/check-words.ts's table were found.`);
    process.exit(1);
  }
}

/** One word for each concept: finds the words that this repository does not use in src, docs and README.md. */
import { join, resolve } from "node:path";
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
  { words: "(?:take|takes|taken|taking|took) over", instead: "replace, hot-swap" },
  { words: "who asks|whoever", instead: "a caller, a client" },
  { words: "mostly", instead: "usually" },
  { words: "transcod(?:e|es|ed|ing|er)", instead: "quantize, convert" },
  { words: "better[ -]forms?", instead: "quantization" },
  { words: "what is no", instead: "text that is not …" },
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
  {
    files: "src/cli/ingest.ts",
    text: /\bkept: reused\b/,
    reason: "a field of `paddock ingest --json` that scripts read",
  },
];

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

function findingsIn(file: string, text: string): Finding[] {
  const allowed = exceptions.filter(({ files }) => new Glob(files).match(file));
  return text
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

function filesToCheck(): string[] {
  const found = ["docs", "src"].flatMap((folder) =>
    [...textFiles.scanSync(join(root, folder))].map((path) => `${folder}/${path}`),
  );
  return ["README.md", ...found].filter((path) => !withoutProse.match(path)).sort();
}

const findings: Finding[] = [];
for (const file of filesToCheck()) {
  findings.push(...findingsIn(file, file).map((finding) => ({ ...finding, line: 0 })));
  findings.push(...findingsIn(file, await Bun.file(join(root, file)).text()));
}
for (const { file, line, word, instead } of findings) {
  console.error(`${file}${line === 0 ? "" : `:${line}`}: "${word}"; write: ${instead}`);
}
if (findings.length > 0) {
  console.error(`${findings.length} words of scripts/check-words.ts's table were found.`);
  process.exit(1);
}

import { describe, expect, test } from "bun:test";
import { type ChunkOptions, chunk as chunks } from "../../../src/ingest/chunk.ts";

const chunk = async (text: string, options: ChunkOptions): Promise<string[]> =>
  (await chunks([text], options)).map(({ source }) => source);

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");
const byWords = (maxTokens: number): ChunkOptions => ({
  maxTokens,
  overlapTokens: 0,
  countTokens: async (texts) => texts.map((text) => wordsOf(text).length),
});
const byCharacters = (maxTokens: number): ChunkOptions => ({
  maxTokens,
  overlapTokens: 0,
  countTokens: async (texts) => texts.map(({ length }) => length),
});
const words = (count: number, stem: string): string =>
  Array.from({ length: count }, (_, index) => `${stem}${index}`).join(" ");

/** Everything that `chunk` promises of any text, whatever the passages look like. */
async function expectNothingLost(text: string, options: ChunkOptions): Promise<void> {
  const passages = await chunk(text, options);
  const kept = new Set(passages.flatMap(wordsOf));
  const lost = wordsOf(text).filter((word) => !/^#+$/.test(word) && !kept.has(word));
  const counts = await options.countTokens(passages);
  const tooLong = passages.filter((_, at) => (counts[at] ?? 0) > options.maxTokens);
  expect({ lost, tooLong }).toEqual({ lost: [], tooLong: [] });
}

describe("a passage", () => {
  test("is the whole of a text that fits", async () => {
    expect(await chunk("One.\n\nTwo.\r\n\r\nThree.\n", byWords(10))).toEqual([
      "One.\n\nTwo.\n\nThree.",
    ]);
  });

  test("is nothing where there is nothing", async () => {
    expect(await chunk(" \n\n\t\n", byWords(10))).toEqual([]);
  });

  test("carries the path of the headings above it", async () => {
    const text = "Intro.\n# A\nin a\n## B ##\nin b\n### C\nin c\n## D\nin d\n# E\nin e";
    expect(await chunk(text, byWords(20))).toEqual([
      "Intro.",
      "A\n\nin a",
      "A > B\n\nin b",
      "A > B > C\n\nin c",
      "A > D\n\nin d",
      "E\n\nin e",
    ]);
  });

  test("skips a level that no heading has", async () => {
    expect(await chunk("# A\n### C\ntext", byWords(20))).toEqual(["A > C\n\ntext"]);
  });

  test("joins paragraphs under one heading for as long as they fit", async () => {
    const text = "# H\n\na1 a2\n\nb1 b2\n\nc1 c2";
    expect(await chunk(text, byWords(5))).toEqual(["H\n\na1 a2\n\nb1 b2", "H\n\nc1 c2"]);
  });

  test("stands under headings that are underlined, too", async () => {
    const text = "Title\n=====\n\nintro\n\nPart\n----\ntext\n\ntwo lines\nbefore\n---\nafter";
    expect(await chunk(text, byWords(20))).toEqual([
      "Title\n\nintro",
      "Title > Part\n\ntext\n\ntwo lines\nbefore\n---\nafter",
    ]);
  });

  test("does not join two sections of the same name", async () => {
    expect(await chunk("# A\none\n# A\ntwo", byWords(20))).toEqual(["A\n\none", "A\n\ntwo"]);
  });

  test("is never a great length of letters, though it counts as few tokens", async () => {
    const passages = await chunk("x".repeat(5000), { ...byWords(10), overlapTokens: 0 });
    expect(Math.max(...passages.map(({ length }) => length))).toBeLessThanOrEqual(160);
    expect(passages.join("")).toBe("x".repeat(5000));
  });

  test("stands under a heading that ends in a sharp, and under one that is indented", async () => {
    const text = "# C# #\nin c\n\n   ## B\nin b";
    expect(await chunk(text, byWords(20))).toEqual(["C#\n\nin c", "C# > B\n\nin b"]);
  });

  test("has no heading from a rule under a list or a quotation", async () => {
    const text = "- item\n---\n\n> words\n---\n\n- # in a list";
    expect(await chunk(text, byWords(20))).toEqual([text]);
  });

  test("does not join what stands under different headings", async () => {
    expect(await chunk("# A\na\n# B\nb", byWords(100))).toEqual(["A\n\na", "B\n\nb"]);
  });
});

describe("a code fence", () => {
  const code = "```sh\n# not a heading\n\nrun this\n```";

  test("stays whole, with its empty lines and what looks like headings", async () => {
    expect(await chunk(`# H\n\n${words(6, "w")}\n\n${code}\n\nafter`, byWords(9))).toEqual([
      `H\n\n${words(6, "w")}`,
      `H\n\n${code}`,
      "H\n\nafter",
    ]);
  });

  test("stays whole under a paragraph that it has no empty line from", async () => {
    expect(await chunk(`${words(6, "w")}:\n${code}`, byWords(9))).toContain(code);
  });

  test("ends only at its own mark", async () => {
    const text = "~~~~\n```\n# inside\n```\n~~~~\n\n# H\n\nafter";
    expect(await chunk(text, byWords(20))).toEqual([
      "~~~~\n```\n# inside\n```\n~~~~",
      "H\n\nafter",
    ]);
  });
});

describe("a code fence by the rules of CommonMark", () => {
  test("does not end where its mark is followed by text", async () => {
    const code = "```\nw1\n``` w2\n# w3\n```";
    expect(await chunk(`${code}\n\n# H\n\nafter`, byWords(20))).toEqual([code, "H\n\nafter"]);
  });

  test("does not begin with code in a line", async () => {
    expect(await chunk("```code``` in a line\n\n# H\n\nafter", byWords(20))).toEqual([
      "```code``` in a line",
      "H\n\nafter",
    ]);
  });

  test("stays whole in an item of a list, also on its first line", async () => {
    const items = ["1. one\n\n", "   ```\n   a\n\n   b\n   ```", "\n- ```\n  c\n\n  d\n  ```"];
    expect(await chunk(`${items.join("")}\n\n# H\n\nafter`, byWords(5))).toEqual([
      "1. one",
      "```\n   a\n\n   b\n   ```",
      "- ```\n  c\n\n  d\n  ```",
      "H\n\nafter",
    ]);
  });
});

describe("a block that is too long", () => {
  test("is cut between lines first, each part under its headings", async () => {
    expect(await chunk("# H\na1 a2\nb1 b2\nc1 c2", byWords(5))).toEqual([
      "H\n\na1 a2\nb1 b2",
      "H\n\nc1 c2",
    ]);
  });

  test("is cut between sentences where a line is too long", async () => {
    expect(await chunk("One two three. Four five! Six seven?", byWords(5))).toEqual([
      "One two three. Four five!",
      "Six seven?",
    ]);
  });

  test("is cut between words where a sentence is too long", async () => {
    expect(await chunk("a b c d e f g", byWords(3))).toEqual(["a b c", "d e f", "g"]);
  });

  test("is cut inside a word only where the word itself is too long", async () => {
    expect((await chunk("x".repeat(25), byCharacters(10))).join("").replaceAll("\n", "")).toBe(
      "x".repeat(25),
    );
    for (const count of [9, 10, 11, 12, 13]) {
      const around = words(count, "word");
      const passages = await chunk(`${around} ${"x".repeat(60)}`, byCharacters(40));
      const kept = new Set(passages.flatMap(wordsOf));
      expect(wordsOf(around).filter((word) => !kept.has(word))).toEqual([]);
    }
  });

  test("is never cut inside a character", async () => {
    const passages = await chunk("🐎".repeat(50), byCharacters(9));
    expect(passages.filter((passage) => !passage.isWellFormed())).toEqual([]);
  });
});

describe("a table", () => {
  const table = "| a | b |\n|---|---|\n| 1 | one |\n| 2 | two |\n| 3 | three |";

  test("stays whole, apart from the paragraph above it", async () => {
    expect(await chunk(`${words(20, "w")}:\n${table}\nafter`, byWords(30))).toEqual([
      `${words(20, "w")}:`,
      `${table}\n\nafter`,
    ]);
  });

  test("that is too long is cut between rows, each part under the table's head", async () => {
    expect(await chunk(table, byWords(16))).toEqual([
      "| a | b |\n|---|---|\n| 1 | one |\n| 2 | two |",
      "| a | b |\n|---|---|\n| 3 | three |",
    ]);
  });
});

test("a table whose head leaves hardly any room makes no passage that is too long", async () => {
  for (let cells = 1; cells < 40; cells += 1) {
    const line = (text: string) => `|${` ${text} |`.repeat(cells)}`;
    const table = `${line("a")}\n${line("-")}\n${line("10.7.0.1:80")}\n${line("x y")}`;
    await expectNothingLost(table, byCharacters(256));
  }
});

test("a table may be written without pipes at its sides, and in a list", async () => {
  const table = "a | b\n--|--\n1 | one\n2 | two";
  expect(await chunk(`${table}\nafter`, byWords(7))).toEqual([
    "a | b\n--|--\n1 | one",
    "a | b\n--|--\n2 | two",
    "after",
  ]);
  expect(await chunk("- w\n\n  |a|b|\n  |-|-|\n  |1|2|\n  |3|4|", byWords(3))).toEqual([
    "- w",
    "|a|b|\n  |-|-|\n|1|2|",
    "|a|b|\n  |-|-|\n|3|4|",
  ]);
});

describe("overlap", () => {
  const overlapping = (maxTokens: number, overlapTokens: number): ChunkOptions => ({
    ...byWords(maxTokens),
    overlapTokens,
  });

  test("repeats the last sentences before a cut", async () => {
    const text = "One two. Three four. Five six. Seven eight. Nine ten.";
    expect(await chunk(text, overlapping(6, 2))).toEqual([
      "One two. Three four. Five six.",
      "Five six.\n\nSeven eight. Nine ten.",
    ]);
  });

  test("is none between headings, nor around code and tables", async () => {
    expect(await chunk("# A\none.\n# B\ntwo.", overlapping(20, 5))).toEqual([
      "A\n\none.",
      "B\n\ntwo.",
    ]);
    const code = "```\nrun this now\n```";
    expect(await chunk(`a b c.\n\n${code}`, overlapping(7, 3))).toEqual(["a b c.", code]);
  });

  test("never makes a passage too long", async () => {
    const options = overlapping(12, 6);
    for (const seed of [1, 2, 3, 4]) {
      const long = (await chunk(randomText(seed), options)).filter(
        (text) => wordsOf(text).length > 12,
      );
      expect(long).toEqual([]);
      await expectNothingLost(randomText(seed), options);
    }
  });
});

test("a passage says which headings it stands under", async () => {
  expect(await chunks(["# A\n## B\ntext\n# C\nmore"], byWords(20))).toEqual([
    { source: "A > B\n\ntext", heading: "A > B" },
    { source: "C\n\nmore", heading: "C" },
  ]);
});

describe("nothing is lost", () => {
  test("of a heading with nothing under it", async () => {
    await expectNothingLost("# Title\n\n## Empty\n\n## Full\n\ntext", byWords(10));
    await expectNothingLost("# Only", byWords(10));
  });

  test("of a text whose headings are too long by themselves", async () => {
    const text = `# ${words(12, "h")}\n\nbody text`;
    const kept = new Set((await chunk(text, byWords(8))).flatMap(wordsOf));
    expect(["body", "text"].filter((word) => !kept.has(word))).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("of a text that chance made: %d", async (seed) => {
    const text = randomText(seed);
    for (const most of [16, 40, 200]) await expectNothingLost(text, byWords(most));
  });
});

/** Headings, paragraphs of lines and sentences, and fences; every word occurs once. */
function randomText(seed: number): string {
  let state = seed;
  let count = 0;
  const random = (most: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % most;
  };
  const word = (): string => `w${count++}`;
  const some = (most: number, make: () => string, separator: string): string =>
    Array.from({ length: 1 + random(most) }, make).join(separator);
  const sentence = (): string => `${some(30, word, " ")}.`;
  const line = (): string => some(3, sentence, " ");
  const section = (): string => {
    const heading = `${"#".repeat(1 + random(3))} ${some(2, word, " ")}`;
    const fence = `\`\`\`\n${some(4, line, "\n\n")}\n\`\`\``;
    return [heading, some(4, line, "\n"), ...(random(2) === 0 ? [fence] : []), line()].join("\n\n");
  };
  return some(8, section, "\n\n");
}

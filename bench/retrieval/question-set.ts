/** Sets of texts and questions to measure retrieval with: a file in SQuAD's format, or a folder in BEIR's. */
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";

interface Squad {
  data: { paragraphs: { context: string; qas: { question: string }[] }[] }[];
}

interface Question {
  text: string;
  /** The texts that answer it, by number, each with how well. */
  relevant: ReadonlyMap<number, number>;
}

interface QuestionSet {
  name: string;
  texts: string[];
  questions: Question[];
}

/** A folder has `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`. */
export async function readSet(path: string): Promise<QuestionSet> {
  const isFolder = (await stat(path)).isDirectory();
  const name = basename(path).replace(/\.json$/, "");
  if (isFolder) return { name, ...(await readBeir(path)) };
  return { name, ...fromSquad((await Bun.file(path).json()) as Squad) };
}

function fromSquad({ data }: Squad): Omit<QuestionSet, "name"> {
  const paragraphs = data.flatMap((article) => article.paragraphs);
  return {
    texts: paragraphs.map(({ context }) => context),
    questions: paragraphs.flatMap(({ qas }, number) =>
      qas.map(({ question }) => ({ text: question, relevant: new Map([[number, 1]]) })),
    ),
  };
}

interface BeirText {
  _id: string;
  title?: string;
  text: string;
}

/** Its questions are those that were judged. */
async function readBeir(folder: string): Promise<Omit<QuestionSet, "name">> {
  const corpus = await readLines<BeirText>(join(folder, "corpus.jsonl"));
  const queries = await readLines<BeirText>(join(folder, "queries.jsonl"));
  const numbers = new Map(corpus.map(({ _id }, number) => [_id, number]));
  const judged = new Map<string, Map<number, number>>();
  const judgements = await Bun.file(join(folder, "qrels", "test.tsv")).text();
  for (const line of judgements.split("\n").slice(1)) {
    const [query = "", text = "", grade = "0"] = line.trim().split("\t");
    const number = numbers.get(text);
    if (number === undefined || Number(grade) <= 0) continue;
    judged.set(query, (judged.get(query) ?? new Map()).set(number, Number(grade)));
  }
  return {
    texts: corpus.map(({ title = "", text }) => (title === "" ? text : `${title}\n\n${text}`)),
    questions: queries.flatMap(({ _id, text }) => {
      const relevant = judged.get(_id);
      return relevant === undefined ? [] : [{ text, relevant }];
    }),
  };
}

async function readLines<Line>(path: string): Promise<Line[]> {
  const lines = (await Bun.file(path).text()).split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as Line);
}

/** How many of the plain questions a server answers rightly. */
import { type AnswerOptions, type ChatServer, chat } from "../measuring/client.ts";
import { plainQuestions } from "./plain-questions.ts";

/** Enough for a sentence that holds the answer, too few to come by it in rambling. */
const maxTokens = 24;
/** As many as the node has slots. */
const clients = 4;

/** Asks each question so many times, with seeds that are the same in every run. */
export async function rightAnswers(
  server: ChatServer,
  { times, sampling = {} }: { times: number; sampling?: AnswerOptions["sampling"] },
): Promise<{ right: number; asked: number; wrong: Map<string, number> }> {
  const asked = Array.from({ length: times }, (_, round) =>
    plainQuestions.map((question, at) => ({
      question,
      seed: 1 + round * plainQuestions.length + at,
    })),
  ).flat();
  const waiting = [...asked];
  const wrong = new Map<string, number>();
  let right = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { question, right: expected } = next.question;
        const { text } = await chat(server, question, {
          maxTokens,
          sampling: { ...sampling, seed: next.seed },
        });
        if (expected.test(text)) right++;
        else wrong.set(question, (wrong.get(question) ?? 0) + 1);
      }
    }),
  );
  return { right, asked: asked.length, wrong };
}

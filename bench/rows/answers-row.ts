/** Whether the starter model makes sense at the API's defaults: plain questions, against what it knows at temperature 0. */
import type { Report } from "../measuring/report.ts";
import { measured } from "../measuring/statistics.ts";
import { rightAnswers } from "./right-answers.ts";
import { startStarterNode } from "./starter-node.ts";

/** How often each question is asked; at temperature 0 once, since every answer is the same. */
const times = 5;

export async function answersRow(report: Report): Promise<void> {
  await using server = await startStarterNode();
  const drawn = await rightAnswers(server, { times });
  const likeliest = await rightAnswers(server, { times: 1, sampling: { temperature: 0 } });
  const zero = (likeliest.right / likeliest.asked) * drawn.asked;
  report.add({
    work: "Starter model, plain questions at the API's defaults against temperature 0",
    unit: `right of ${drawn.asked}`,
    node: measured([drawn.right]),
    ratio: measured([drawn.right / zero]),
    target: "≥ 0.9 of temperature 0",
    floor: measured([zero]),
  });
}

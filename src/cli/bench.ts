/** `paddock bench`: how fast a chat model reads prompts and answers on this machine. */
import { Command, InvalidArgumentError } from "commander";
import { loadConfig } from "../config/load.ts";
import { isUpstream, type ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { completeSampling } from "../core/chat/chat-service.ts";
import type { ChatModel } from "../core/models/model.ts";
import type { CompletionRequest, Finish } from "../core/ports/chat-engine.ts";
import { NodeModels } from "../node/models/node-models.ts";
import { dataDirOf } from "../node/node-settings.ts";
import { findNodes } from "../node/running-node.ts";
import { addConfigOptions, addExamples, nodeOptions, readConfig } from "./command-options.ts";
import { printedJson, toTable } from "./printing.ts";
import { createProgress } from "./progress.ts";
import { CommandError, type Shell } from "./shell.ts";

const callerCounts = [1, 4, 16] as const;
const mostCallers = Math.max(...callerCounts);
/** Tokens that an answer follows where its own speed is measured. */
const shortPrompt = 16;
/** A figure that took this long is not taken again: a large model on a slow machine takes minutes for one. */
const longestRowMs = 60_000;

interface BenchFlags {
  promptTokens: number;
  answerTokens: number;
  runs: number;
}

export function benchCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("bench")
      .description("measure how fast a chat model reads and answers on this machine")
      .argument(
        "[model]",
        "a configured model, or a source as 'pull' takes it (default: the first)",
      )
      .option("--prompt-tokens <number>", "tokens of each prompt", positive, 512)
      .option("--answer-tokens <number>", "tokens of each answer", positive, 128)
      .option("--runs <number>", "how often each figure is taken; the median counts", positive, 3)
      .option("--json", "as JSON"),
  );
  addExamples(command, "paddock bench", "paddock bench hf:owner/repo:Q4_K_M --json");
  return command.action(async (wanted?: string) => {
    const config = await readConfig(shell, command);
    const model = benchedModel(config, wanted);
    const nodes = await findNodes(dataDirOf(config, shell.cwd), shell.processes);
    if (nodes.here.length > 0)
      shell.say("A node is running here: what it computes slows this down.\n");
    const options = nodeOptions(shell, { ...config, models: [model] });
    await using models = await NodeModels.open({ ...options, telemetry }, [model]);
    const progress = createProgress(shell);
    const loaded = await models.load(model, { progress, signal: shell.stopped });
    if (loaded.type !== "chat") throw notChat(model.name);
    const flags: BenchFlags = command.opts();
    const rows = await measure(loaded, flags, { progress, signal: shell.stopped });
    const { ctxSize } = loaded.card.settings;
    const { engineVersion: engine, threads } = models;
    const { parallel } = model;
    const result = { model: model.name, engine, threads, parallel, ctx_size: ctxSize, rows };
    if (printedJson(shell, command, result)) return;
    shell.print(toTable(rows.map(toCells)));
    shell.say(`${engine}; ${threads} threads, ${parallel} answers at once.\n`);
  });
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

/** Nobody asks for these measurements. */
const telemetry = {
  runnerRestarted: () => {},
  watchMemory: () => ({ [Symbol.dispose]: () => {} }),
};

const notChat = (name: string): CommandError =>
  new CommandError(`The model '${name}' is not for chat; only chat models are measured.`);

/** With a queue that holds every caller. */
function benchedModel(config: Config, wanted: string | undefined): ModelConfig {
  const model =
    wanted === undefined
      ? config.models.find(({ type }) => type === "chat")
      : (config.models.find(({ name }) => name === wanted) ?? unconfigured(wanted));
  if (model === undefined) throw new CommandError("No chat model is configured; name one.");
  if (model.type !== "chat") throw notChat(model.name);
  if (isUpstream(model.source)) {
    throw new CommandError(
      `The model '${model.name}' runs on another server, not on this machine.`,
    );
  }
  return { ...model, max_queue: mostCallers };
}

function unconfigured(source: string): ModelConfig | undefined {
  const lines = ["[[models]]", `name = ${JSON.stringify(source)}`, 'type = "chat"'];
  const text = [...lines, `source = ${JSON.stringify(source)}`, ""].join("\n");
  return loadConfig({ file: { path: source, text }, env: {}, flags: {} }).models[0];
}

interface Row {
  callers: number;
  prompt_tokens: number;
  /** Of all callers together. */
  prompt_tokens_per_second: number;
  answer_tokens: number;
  answer_tokens_per_second: number;
}

type Running = Pick<Parameters<NodeModels["load"]>[1], "progress" | "signal">;

async function measure(
  model: ChatModel,
  { promptTokens, answerTokens, runs }: BenchFlags,
  { progress, signal }: Running,
): Promise<Row[]> {
  const prompts = await promptsFor(model, signal);
  const longest = model.engine.contextSize - 1;
  const read = { prompt: Math.min(promptTokens, longest), answer: 1 };
  const answer = { prompt: Math.min(shortPrompt, longest), answer: answerTokens };
  const step = progress.step("Measuring", 100, "percent");
  const rounds = callerCounts.length * runs + 1;
  let done = 0;
  const round = async (callers: number, work: Work): Promise<Outcome> => {
    const outcome = await askAtOnce(model, prompts, callers, work, signal);
    done += 0.5;
    step.update((done / rounds) * 100);
    return outcome;
  };
  // The first computation of each kind reads the weights and finds the threads.
  await round(1, read);
  await round(1, answer);
  const rows: Row[] = [];
  for (const callers of callerCounts) {
    const [reads, answers]: [Outcome[], Outcome[]] = [[], []];
    const startedAt = performance.now();
    for (let run = 0; run < runs && performance.now() - startedAt < longestRowMs; run++) {
      reads.push(await round(callers, read));
      answers.push(await round(callers, answer));
    }
    rows.push({
      callers,
      prompt_tokens: read.prompt,
      prompt_tokens_per_second: median(reads.map(({ prompt, seconds }) => prompt / seconds)),
      answer_tokens: median(answers.map((outcome) => outcome.answer / callers)),
      answer_tokens_per_second: median(answers.map((outcome) => outcome.answer / outcome.seconds)),
    });
  }
  step.finish();
  return rows;
}

interface Work {
  prompt: number;
  answer: number;
}

interface Outcome extends Work {
  seconds: number;
}

/** Gives prompts of so many tokens, each unlike those before: nothing of them is in the prefix cache. */
async function promptsFor({ engine }: ChatModel, signal: AbortSignal) {
  const text = "The quick brown fox jumps over a lazy dog, 1234567890 times or never; who knows?";
  const input = { text, addSpecial: false, parseSpecial: false };
  const tokens = [...((await engine.tokenizer?.tokenize(input, { signal }))?.tokens ?? [])];
  if (tokens.length === 0) throw new CommandError("The model has no tokens for a prompt.");
  let next = 0;
  return (length: number): number[] => {
    const start = next++;
    return Array.from(
      { length },
      (_, at) => tokens[(start + at * (start + 1)) % tokens.length] ?? 0,
    );
  };
}

async function askAtOnce(
  { engine, card }: ChatModel,
  promptOf: (length: number) => number[],
  callers: number,
  { prompt, answer }: Work,
  signal: AbortSignal,
): Promise<Outcome> {
  const sampling = completeSampling(card.settings, {});
  const requests = Array.from({ length: callers }, (): CompletionRequest => {
    return { prompt: promptOf(prompt), maxTokens: answer, sampling };
  });
  const startedAt = performance.now();
  const ends = await Promise.all(
    requests.map(async (request, at) => {
      let end: Finish | undefined;
      for await (const event of engine.generate(request, { signal, caller: `${at}` })) {
        if (event.type === "finish") end = event;
      }
      return end?.usage;
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const sum = (of: "promptTokens" | "completionTokens"): number =>
    ends.reduce((total, usage) => total + (usage?.[of] ?? 0), 0);
  return { prompt: sum("promptTokens"), answer: sum("completionTokens"), seconds };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function toCells(row: Row) {
  const { callers, prompt_tokens_per_second: reading, answer_tokens_per_second: answering } = row;
  return {
    callers,
    "prompt tok/s": rounded(reading),
    "answer tok/s": rounded(answering),
    "answer tok/s each": rounded(answering / callers),
  };
}

/** Three digits are more than two runs agree on. */
const rounded = (value: number): number => Number(value.toPrecision(3));

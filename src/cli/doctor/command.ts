/** `paddock doctor`: checks everything that a node needs, and reports problems with remedies. */
import { Command } from "commander";
import { ConfigError } from "../../config/consistency.ts";
import { isUpstream } from "../../config/model-schema.ts";
import { reasonOf } from "../../core/errors.ts";
import { dataDirOf } from "../../node/node-settings.ts";
import {
  addConfigOptions,
  addExamples,
  configFrom,
  openSecretsIn,
  readConfigFile,
} from "../command-options.ts";
import { createStyle, printable, printableJson } from "../printing.ts";
import { CommandError, type Shell } from "../shell.ts";
import { checkPort, checkReach, checkShared, checkStore } from "./connections.ts";
import { type Finding, type Installation, note, ok, problem } from "./finding.ts";
import {
  checkAccelerator,
  checkClock,
  checkDataDir,
  checkDisk,
  checkDocuments,
  checkEngine,
  checkKeysFile,
  checkResponses,
} from "./machine.ts";
import { checkModels, checkUpstream, type FoundModel } from "./models.ts";

export function doctorCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("doctor")
      .description("check configuration, models, engine, store, port and rights; changes nothing")
      .option("--gpu", "try accelerators again, and save the results for the next start")
      .option("--json", "as JSON"),
  );
  addExamples(
    command,
    "paddock doctor",
    "paddock doctor --gpu",
    "paddock doctor --config /etc/paddock/paddock.toml --json",
  );
  return command.action(async () => {
    const findings: Finding[] = [];
    const isJson = command.opts().json === true;
    for await (const finding of examine(shell, command)) {
      findings.push(finding);
      if (!isJson) shell.paint(toLines(shell, finding));
    }
    const problems = findings.filter(({ status }) => status === "problem").length;
    if (isJson) {
      shell.print(`${printableJson({ ok: problems === 0, findings }, 2)}\n`);
    }
    if (problems > 0) {
      const count = problems === 1 ? "One thing" : `${problems} things`;
      throw new CommandError(`${count} must be fixed.`);
    }
    if (!isJson) shell.print("The node can be started.\n");
  });
}

type NamedFinding = Finding & { check: string };

async function* examine(shell: Shell, command: Command): AsyncGenerator<NamedFinding> {
  const { findings, config } = await checkConfiguration(shell, command);
  yield* named("configuration", findings);
  if (config === undefined) return;
  const installation: Installation = {
    config,
    baseDir: shell.cwd,
    dataDir: dataDirOf(config, shell.cwd),
    program: shell.program,
    secretOf: (variable) => shell.env[variable],
  };
  const upstream = config.models.filter(({ source }) => isUpstream(source));
  const hasLocal = upstream.length < config.models.length;
  const retry = command.opts().gpu === true;
  const signal = shell.stopped;
  let found: readonly FoundModel[] = [];
  const checks: Record<string, (of: Installation) => Promise<Finding | Finding[]>> = {
    ...(hasLocal ? { engine: checkEngine } : {}),
    models: async () => {
      const models = await checkModels(installation);
      found = models.found;
      return models.findings;
    },
    ...Object.fromEntries(
      upstream.map((model) => [
        `model ${model.name}`,
        () => checkUpstream(installation, model, signal),
      ]),
    ),
    accelerator: () => checkAccelerator(installation, found, { retry, signal }),
    store: () => checkStore(installation, found),
    documents: checkDocuments,
    responses: checkResponses,
    "data dir": checkDataDir,
    "keys file": checkKeysFile,
    disk: checkDisk,
    shared: checkShared,
    port: checkPort,
    exposure: checkReach,
    clock: checkClock,
  };
  for (const [name, check] of Object.entries(checks)) {
    // An unexpected error in a check is a finding too; the other checks continue.
    const findings = await check(installation).catch((error: unknown) =>
      problem(`This could not be looked at: ${reasonOf(error)}.`, "Look at it yourself."),
    );
    yield* named(name, [findings].flat());
  }
}

const named = (check: string, findings: readonly Finding[]): NamedFinding[] =>
  findings.map((finding) => ({ check, ...finding }));

async function checkConfiguration(
  shell: Shell,
  command: Command,
): Promise<{ findings: Finding[]; config?: Installation["config"] }> {
  try {
    const file = await readConfigFile(shell, command);
    const config = configFrom(shell, command, file);
    const where =
      file === undefined ? "There is no file; the defaults are used" : `${file.path} is valid`;
    const isValid = ok(`${where}.`);
    const open = openSecretsIn(shell, file);
    if (open === undefined) return { findings: [isValid], config };
    const { path, keys, rights } = open;
    const isOpen = note(
      `Everyone on this machine can read ${path}, which holds ${keys.join(" and ")} (its rights are ${rights}).`,
      `chmod 600 ${path}, or give secrets by the environment.`,
    );
    return { findings: [isValid, { ...isOpen, check: "configuration file" }], config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = "Correct it; the page about configuration has every key.";
    return { findings: [problem(error.message, remedy)] };
  }
}

const labelWidth = 8;
const words = { ok: "ok", note: "note", problem: "fix" } as const;

function toLines(shell: Shell, { check, status, message, remedy }: NamedFinding): string {
  const style = createStyle(shell.hasColour);
  const paint = { ok: style.good, note: style.doubtful, problem: style.bad }[status];
  const label = paint(words[status]) + " ".repeat(labelWidth - words[status].length);
  const advice =
    remedy === undefined
      ? ""
      : `${" ".repeat(labelWidth)}${style.faint("->")} ${printable(remedy)}\n`;
  return `${label}${style.strong(check)}: ${printable(message)}\n${advice}`;
}

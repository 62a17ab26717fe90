/** The child process of one model: starts it, has it load, and explains failed starts. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { onAbort } from "../core/abort.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { type Log, noLog } from "../core/log.ts";
import { BackendFailure, type LoadStage, notFinite } from "../core/models/engine-backends.ts";
import { settledSettings } from "../core/models/model.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import { noProgress, type Progress, type ProgressStep } from "../core/progress.ts";
import { exitOf, lastLine, type Program, tailOf } from "../subprocess/program.ts";
import { Heartbeat, type HeartbeatLimits } from "./heartbeat.ts";
import {
  type EngineSettings,
  type Facts,
  type FromRunner,
  fromSentError,
  type RunnerBackend,
  type ToRunner,
} from "./protocol.ts";

export interface RunnerOptions extends HeartbeatLimits {
  program: Program;
  name: string;
  engine: EngineSettings & RunnerBackend;
  spec: ModelSpec;
  log: Log;
}

export interface StartOptions {
  progress: Progress;
  signal: AbortSignal;
  onItems: (items: Extract<FromRunner, { type: "items" }>["items"]) => void;
}

export interface RunnerProcess {
  pid: number;
  version: string;
  facts: Facts;
  send(message: ToRunner): void;
  /** Resident bytes, as last reported; undefined before the first report. */
  residentBytes(): number | undefined;
  problem(): string | undefined;
  ended: Promise<Ending>;
  kill(): void;
  /** Kills it and waits for some seconds: a process that no signal ends must not block the node. */
  end(): Promise<void>;
}

export interface Ending {
  /** `SIGSEGV`, `exit code 1`, `no heartbeat for 30 s`, `no progress for 600 s` or `a step did not end for 60 s`. */
  how: string;
  hung: boolean;
  stderrTail: string;
}

/** The hidden command that starts a runner; see main.ts. */
export const runnerCommand = "runner";

export async function startRunner(
  { program, name, engine, spec, log, heartbeatTimeoutMs, stepTimeoutMs }: RunnerOptions,
  { progress, signal, onItems }: StartOptions,
): Promise<RunnerProcess> {
  signal.throwIfAborted();
  const loaded = Promise.withResolvers<Pick<RunnerProcess, "version" | "facts">>();
  // If the process ends first, `broken` rejects and nobody awaits this promise.
  loaded.promise.catch(() => {});
  let step: ProgressStep | undefined;
  let isOpen = true;
  let residentBytes: number | undefined;
  let hung: string | undefined;
  const load: { stage: LoadStage } = { stage: "library" };
  const child = Bun.spawn([...program.command, runnerCommand, name], {
    env: program.env,
    serialization: "advanced",
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    onDisconnect() {
      isOpen = false;
    },
    ipc(message: FromRunner) {
      heartbeat.heard();
      if (message.type !== "heartbeat") {
        stall?.refresh();
        heartbeat.progressed();
      }
      switch (message.type) {
        case "listening":
          send({ type: "load", engine, spec });
          return;
        case "items":
          onItems(message.items);
          return;
        case "heartbeat":
          residentBytes = message.bytes;
          heartbeat.answered(message);
          return;
        case "log":
          log[message.level](message.message, message.fields);
          return;
        case "progress":
          step ??= progress.step(message.label, 100, "percent");
          step.update(message.percent);
          return;
        case "stage":
          load.stage = message.stage;
          return;
        case "loaded":
          clearTimeout(stall);
          stall = undefined;
          step?.finish();
          heartbeat.loaded();
          loaded.resolve({ version: message.version, facts: message.facts });
          return;
        case "not-loaded":
          loaded.reject(fromSentError(message.error));
          return;
      }
    },
  });
  const stderrTail = tailOf(child.stderr);
  const givenUp = Promise.withResolvers<void>();
  const ended = Promise.race([child.exited, givenUp.promise]).then(async (): Promise<Ending> => {
    heartbeat[Symbol.dispose]();
    clearTimeout(stall);
    const isHung = hung !== undefined;
    const words = isHung ? Promise.race([stderrTail, pauseFor(lastWordsMs, "")]) : stderrTail;
    return { how: hung ?? exitOf(child), hung: isHung, stderrTail: await words };
  });
  const kill = (): void => child.kill("SIGKILL");
  const send = (message: ToRunner): void => {
    if (!isOpen) return;
    try {
      child.send(message);
    } catch {
      // The process has ended; `ended` is about to settle.
    }
  };
  const killHung = (why: string): void => {
    hung = why;
    kill();
    // A process that hangs in a driver may ignore any signal; its callers must not wait for it.
    void pauseFor(longestEndMs, undefined, { ref: false }).then(() => {
      givenUp.resolve();
      child.unref();
    });
  };
  const heartbeat = new Heartbeat({
    heartbeatTimeoutMs,
    stepTimeoutMs,
    ask: () => send({ type: "heartbeat" }),
    onHung: killHung,
  });
  // While a native thread waits for ever, the event loop still answers heartbeats.
  const stallMs = engine.backend === "cpu" ? 0 : heartbeatTimeoutMs * stallFactor;
  const onStall = (): void => killHung(`no progress for ${Math.round(stallMs / 1000)} s`);
  let stall = stallMs === 0 ? undefined : setTimeout(onStall, stallMs);
  const broken = ended.then(({ how, stderrTail: tail }): never => {
    throw new NodeError(
      "unavailable",
      `The model '${name}' cannot be loaded: its process ended (${how}). ${lastLine(tail)}`.trim(),
      { cause: new ProcessEnded(how) },
    );
  });
  broken.catch(() => {});
  using _ = onAbort(signal, kill);
  try {
    const facts = await Promise.race([loaded.promise, broken]);
    return {
      pid: child.pid,
      ...facts,
      send,
      residentBytes: () => residentBytes,
      problem: () => heartbeat.problem,
      ended,
      kill,
      async end() {
        heartbeat[Symbol.dispose]();
        kill();
        await Promise.race([ended, pauseFor(longestEndMs, undefined, { ref: false })]);
        child.unref();
      },
    };
  } catch (error) {
    step?.finish("failed");
    kill();
    signal.throwIfAborted();
    if (load.stage === "file") throw error;
    throw toBackendFailure(error, { stage: load.stage, hung: hung !== undefined });
  }
}

/** Multiplies the timeout while loading: some accelerators compile their programs at first use. */
const stallFactor = 4;

/** No signal ends a process in an uninterruptible system call, such as a read from a dead disk. */
const longestEndMs = 5000;
const lastWordsMs = 100;

/** Restarts a model's process; throws if the model is not the one that `facts` describe. */
export async function restartProcess(
  options: RunnerOptions,
  facts: Facts,
  starting: Omit<StartOptions, "progress">,
): Promise<RunnerProcess> {
  const process = await startWith(options, facts, starting);
  if (identityOf(process.facts) === identityOf(facts)) return process;
  process.kill();
  throw new NodeError(
    "unavailable",
    `The file of the model '${options.name}' is another than the node was started with. Put it back, or start the node again.`,
  );
}

/** Starts a process with the sizes in `facts`: with other models loaded, it would choose others. */
export async function startWith(
  options: RunnerOptions,
  facts: Facts,
  starting: Omit<StartOptions, "progress">,
): Promise<RunnerProcess> {
  const { spec } = options;
  const settings = settledSettings(spec.settings, facts.card.settings);
  const settled = { ...options, spec: { ...spec, settings } };
  return await startRunner(settled, { ...starting, progress: noProgress }).catch(
    (error: unknown) => {
      // The backend worked at the first load; another one would give different answers.
      throw error instanceof BackendFailure ? error.cause : error;
    },
  );
}

const identityOf = ({ type, fingerprint }: Facts): string => `${type} ${fingerprint}`;

/** Tries a model on a backend in a separate process, which may crash. Throws a BackendFailure. */
export async function tryBackend(
  options: Omit<RunnerOptions, "stepTimeoutMs">,
  signal: AbortSignal,
): Promise<{ version: string }> {
  const tried = await startRunner(
    // It is over when the model is loaded.
    { ...options, stepTimeoutMs: 0, log: noLog },
    { progress: noProgress, signal, onItems: () => {} },
  );
  await tried.end();
  return { version: tried.version };
}

/** The cause of an error if the process ended, rather than reported it. */
export class ProcessEnded extends Error {
  override readonly name = "ProcessEnded";
}

const when: Readonly<Record<LoadStage, string>> = {
  library: "while its library was loaded",
  file: "while the model's file was read",
  model: "while the model was loaded",
  trial: "at its first computation",
};

function toBackendFailure(
  cause: unknown,
  { stage, hung }: { stage: LoadStage; hung: boolean },
): BackendFailure {
  const ended = cause instanceof NodeError && cause.cause instanceof ProcessEnded;
  if (ended) {
    const lasts = stage === "library" ? "for all" : "for the model";
    return new BackendFailure(`it ${hung ? "hung" : "crashed"} ${when[stage]}`, { lasts, cause });
  }
  if (stage === "library") {
    const [needs] = /its library needs \S+, which is not installed/.exec(reasonOf(cause)) ?? [];
    return new BackendFailure(needs ?? "its library does not load", { lasts: "for all", cause });
  }
  if (stage === "trial") {
    const reason = reasonOf(cause).includes(notFinite)
      ? "its first results were not numbers"
      : "its first computation failed";
    return new BackendFailure(reason, { lasts: "for the model", cause });
  }
  // Memory may be short only now.
  return new BackendFailure("the model cannot be loaded with it", { lasts: "no", cause });
}

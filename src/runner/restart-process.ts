/** Starts a model's process again, as it was started first: the same weights and settings. */
import { NodeError } from "../core/errors.ts";
import { BackendFailure } from "../core/models/engine-backends.ts";
import { settledSettings } from "../core/models/settled-settings.ts";
import { noProgress } from "../core/progress.ts";
import type { Facts } from "./protocol.ts";
import {
  type RunnerOptions,
  type RunnerProcess,
  type StartOptions,
  startRunner,
} from "./runner-process.ts";

/** Refuses a model that is not the one of the first start, which `facts` describe. */
export async function restartProcess(
  options: RunnerOptions,
  facts: Facts,
  starting: Omit<StartOptions, "progress">,
): Promise<RunnerProcess> {
  const process = await startRunner(withFirstChoices(options, facts), {
    ...starting,
    progress: noProgress,
  }).catch((error: unknown) => {
    // The backend worked when the model was first loaded; another would answer otherwise.
    throw error instanceof BackendFailure ? error.cause : error;
  });
  if (identityOf(process.facts) === identityOf(facts)) return process;
  process.kill();
  throw new NodeError(
    "unavailable",
    `The file of the model '${options.name}' is another than the node was started with. Put it back, or start the node again.`,
  );
}

/** What was chosen at the first start is kept: beside models at work it would come out otherwise. */
function withFirstChoices(options: RunnerOptions, facts: Facts): RunnerOptions {
  const { spec } = options;
  const settings = settledSettings(spec.settings, facts.card.settings);
  return { ...options, spec: { ...spec, settings } };
}

/** Changes with the weights, the engine and the settings. */
const identityOf = ({ type, fingerprint }: Facts): string => `${type} ${fingerprint}`;

/** What each configured model runs on: as it was tried, or as the next start will try it. */
import { resolve } from "node:path";
import type { Config } from "../config/schema.ts";
import { given } from "../core/given.ts";
import { noLog } from "../core/log.ts";
import { datedReason, describeBackend } from "../core/models/engine-backends.ts";
import { thisMachine } from "../engine/accelerator/devices.ts";
import { MachineAccelerators } from "../engine/accelerator/machine-accelerators.ts";
import { trialFile } from "../engine/accelerator/trials.ts";
import type { ModelRow } from "./model-rows.ts";
import type { Shell } from "./shell.ts";

/** The rows with the backend of each that is configured and here; nothing is tried. */
export async function withBackends(
  { cwd, program }: Pick<Shell, "cwd" | "program">,
  { models, engine, data_dir: dataDir }: Config,
  rows: readonly ModelRow[],
): Promise<ModelRow[]> {
  const folder = engine.gpu_libraries;
  const accelerators = new MachineAccelerators({
    place: thisMachine(program.env),
    trials: trialFile(resolve(cwd, dataDir)),
    ...given({ gpuLibraries: folder && resolve(cwd, folder) }),
    log: noLog,
  });
  const described: ModelRow[] = [];
  for (const row of rows) {
    const model = row.configured ? models.find(({ name }) => name === row.name) : undefined;
    if (model === undefined || row.path === undefined) {
      described.push(row);
      continue;
    }
    const subject = { path: row.path, nGpuLayers: model.n_gpu_layers };
    const { candidates, proven, rejected } = await accelerators.planFor(subject);
    const [best = "cpu"] = candidates;
    const isKnown = best === "cpu" || proven.includes(best);
    const backend = isKnown ? best : `${best} (to be tried at the next start)`;
    const dated = rejected.map((one) => ({ ...one, reason: datedReason(one) }));
    described.push({ ...row, backend: describeBackend(backend, dated) });
  }
  return described;
}

/** One line where all run on the same. */
export function backendLines(rows: readonly ModelRow[]): string[] {
  const known = rows.flatMap(({ name, backend }) =>
    backend === undefined ? [] : { name, backend },
  );
  const different = new Set(known.map(({ backend }) => backend));
  if (different.size <= 1) return [...different].map((backend) => `Backend: ${backend}.`);
  return known.map(({ name, backend }) => `Backend of ${name}: ${backend}.`);
}

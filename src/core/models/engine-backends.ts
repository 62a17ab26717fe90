/** Chooses the engine backend of a model: tries them in order, and uses the first that works. */
import { NodeError, reasonOf } from "../errors.ts";
import { given } from "../given.ts";
import type { Log } from "../log.ts";
import type { ContextSettings } from "./model.ts";

export type EngineBackend = "cuda" | "vulkan" | "metal" | "cpu";

/** The best first. Backends without libraries for the platform are skipped when they are looked up. */
export const backendOrder: readonly EngineBackend[] = ["cuda", "vulkan", "metal", "cpu"];

export interface RejectedBackend {
  backend: EngineBackend;
  /** Short and safe to publish: no paths, no output of a driver. */
  reason: string;
  /** Whether the machine has a device for it; without one, it is not reported. */
  hasDevice: boolean;
  remedy?: string;
  triedOn?: string;
}

export interface BackendPlan {
  /** Each is tried once; the last is the CPU. */
  candidates: readonly EngineBackend[];
  rejected: readonly RejectedBackend[];
  /** Candidates that have worked before with the same library, driver and model. */
  proven: readonly EngineBackend[];
  keep(backend: EngineBackend, failure?: LastingFailure): Promise<void>;
}

/** A failure that would happen again: a crash, but not a lack of memory. */
export interface LastingFailure {
  reason: string;
  isForAll: boolean;
}

export interface BackendSubject {
  path: string;
  /** 0: CPU only. */
  nGpuLayers: number | "auto";
  context?: ContextSettings | undefined;
}

export interface Accelerators {
  planFor(subject: BackendSubject): Promise<BackendPlan>;
}

/** The stage of a load. `file`: does not depend on the backend. */
export type LoadStage = "library" | "file" | "model" | "trial";

/** A load that may succeed with another backend. */
export class BackendFailure extends Error {
  override readonly name = "BackendFailure";
  /** Whether it would happen again; see LastingFailure. */
  readonly lasts: "no" | "for the model" | "for all";

  constructor(
    reason: string,
    { lasts, cause }: { lasts: BackendFailure["lasts"]; cause: unknown },
  ) {
    super(reason, { cause });
    this.lasts = lasts;
  }
}

export interface ChosenBackend<Loaded> {
  loaded: Loaded;
  backend: EngineBackend;
  rejected: RejectedBackend[];
}

/** Loads a model with the best backend that works, trying each once; if the last fails, throws its error. */
export async function loadWithBest<Loaded>(
  { candidates, rejected: known, keep }: BackendPlan,
  name: string,
  log: Log,
  load: (backend: EngineBackend, rejected: readonly RejectedBackend[]) => Promise<Loaded>,
): Promise<ChosenBackend<Loaded>> {
  const rejected = [...known];
  for (const backend of candidates) {
    try {
      const loaded = await load(backend, rejected);
      if (backend !== "cpu") await keep(backend);
      return { loaded, backend, rejected };
    } catch (error) {
      if (!(error instanceof BackendFailure)) throw error;
      if (backend === candidates.at(-1)) throw error.cause;
      const { message: reason, lasts, cause } = error;
      const next = candidates[candidates.indexOf(backend) + 1];
      const fields = { model: name, backend, next, reason, detail: reasonOf(cause) };
      log.warn("a backend does not work; the model is loaded with the next", fields);
      if (lasts !== "no") await keep(backend, { reason, isForAll: lasts === "for all" });
      rejected.push({ backend, reason, hasDevice: true, remedy: tryAgain });
    }
  }
  throw new NodeError("internal", `There is no backend to load the model '${name}' with.`);
}

export function tellRejected(
  log: Log,
  rejected: readonly RejectedBackend[],
  told: Set<string> = new Set(),
): void {
  for (const { backend, reason, hasDevice, remedy, triedOn } of rejected) {
    if (!hasDevice || told.has(backend)) continue;
    told.add(backend);
    const fields = given({ tried_on: triedOn, remedy });
    log.info("an accelerator is not used", { backend, reason, ...fields });
  }
}

export const notFinite = "what it computes is not a number";

export const tryAgain = "'paddock doctor --gpu' tries it again and says what to do";

export const datedReason = ({ reason, triedOn }: RejectedBackend): string =>
  triedOn === undefined ? reason : `${reason} (tried on ${triedOn})`;

export function describeBackend(version: string, rejected: readonly RejectedBackend[]): string {
  const better = rejected
    .filter(({ hasDevice }) => hasDevice)
    .map(({ backend, reason }) => `, not ${backend}: ${reason}`);
  return `${version}${better.join("")}`;
}

/** One line for all models: the first one's version, and those that differ. */
export function joinVersions(versions: ReadonlyMap<string, string>): string {
  const [first, ...others] = versions;
  if (first === undefined) return "not loaded yet";
  const different = others.filter(([, version]) => version !== first[1]);
  return [first[1], ...different.map(([name, version]) => `${name}: ${version}`)].join("; ");
}

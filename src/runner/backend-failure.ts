/** What the failure of a runner's start says of the backend that it was started with. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { BackendFailure, type LoadStage, notFinite } from "../core/models/engine-backends.ts";

/** Marks an error that came of the end of the process, not of what it reported. */
export class ProcessEnded extends Error {
  override readonly name = "ProcessEnded";
}

const when: Readonly<Record<LoadStage, string>> = {
  library: "while its library was loaded",
  file: "while the model's file was read",
  model: "while the model was loaded",
  trial: "at its first computation",
};

export function toBackendFailure(
  cause: unknown,
  { stage, hung }: { stage: LoadStage; hung: boolean },
): BackendFailure {
  const ended = cause instanceof NodeError && cause.cause instanceof ProcessEnded;
  if (ended) {
    const reason = hung ? `it hung ${when[stage]}` : `it crashed ${when[stage]}`;
    return new BackendFailure(reason, { lasts: lastsAt(stage), cause });
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
  // There may be too little memory now, and enough at another time.
  return new BackendFailure("the model cannot be loaded with it", { lasts: "no", cause });
}

const lastsAt = (stage: LoadStage): BackendFailure["lasts"] =>
  stage === "library" ? "for all" : "for the model";

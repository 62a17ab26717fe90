/** Metrics, traces and the access log: who is told of what is done for a request, and of its end. */
import type { Log } from "../../core/log.ts";
import type { Telemetry } from "../../core/ports/telemetry.ts";
import type { RequestContext } from "../request-context.ts";
import { accessLogFields } from "./access-log.ts";

export interface Observers {
  telemetry: Pick<Telemetry, "worked" | "requestEnded">;
  log: Log;
}

/** Tells the observers once the request has ended, streams included. */
export function observe(context: RequestContext, { telemetry, log }: Observers): void {
  void context.ended.then((record) => {
    log.info("request", accessLogFields(record));
    telemetry.requestEnded(record);
  });
}

/** A model that runs elsewhere, as what asks for it knows it. */
import type { Log } from "../core/log.ts";
import type { Replicas } from "./replicas/replica.ts";

export interface UpstreamTarget {
  /** What it is in a sentence: `the model 'llama-70b'`. */
  named: string;
  /** What it is called there. */
  upstreamModel: string;
  key?: string;
  /** How long its server may be silent while it is waited for; 0: no bound. */
  silenceMs: number;
  replicas: Replicas;
  log: Log;
}

/** The addresses beside the API's version: `/tokenize` of `http://host:8000/v1` is at `http://host:8000`. */
export const rootOf = (url: string): string => url.replace(/\/v1$/, "");

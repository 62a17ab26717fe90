/** Whether a server elsewhere works, as far as its list of models tells. */
import { given } from "../core/given.ts";
import { ConnectionFailure } from "./connection-failure.ts";
import { exchange } from "./http-exchange.ts";
import { parseJson } from "./json-fields.ts";
import { readText } from "./read-body.ts";
import type { Probe } from "./replicas/probes.ts";

/** It answers at once, or does not work. */
const silenceMs = 5000;
const mostBytes = 4 * 1024 * 1024;

/**
 * One that refuses works: a server without such a list answers 404, one that wants another key 401.
 * One that loads its model, or stops, answers 503.
 */
export const probeServer =
  (key: string | undefined): Probe =>
  async ({ url }, signal) => {
    const asked = { url: `${url}/models`, signal, silenceMs, ...given({ key }) };
    using response = await exchange(asked);
    const { status } = response;
    if (status >= 500) throw new ConnectionFailure(`it answers with status ${status}`);
    const body = parseJson((await readText(response, mostBytes)) ?? "");
    if (status === 200 && body === undefined) throw new ConnectionFailure("it answers no JSON");
  };

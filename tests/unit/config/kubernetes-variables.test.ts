import { describe, expect, test } from "bun:test";
import { loadConfig, serviceVariables } from "../../../src/config/load.ts";

/** What the kubelet sets in every pod beside a Service called `paddock` with a named port. */
const ofService = {
  PADDOCK_SERVICE_HOST: "10.96.0.12",
  PADDOCK_SERVICE_PORT: "8080",
  PADDOCK_SERVICE_PORT_HTTP: "8080",
  PADDOCK_PORT: "tcp://10.96.0.12:8080",
  PADDOCK_PORT_8080_TCP: "tcp://10.96.0.12:8080",
  PADDOCK_PORT_8080_TCP_PROTO: "tcp",
  PADDOCK_PORT_8080_TCP_PORT: "8080",
  PADDOCK_PORT_8080_TCP_ADDR: "10.96.0.12",
};

/** The same of one called `paddock-metrics`, on an address of version 6. */
const ofAnother = {
  PADDOCK_METRICS_SERVICE_HOST: "fd00::12",
  PADDOCK_METRICS_SERVICE_PORT: "9090",
  PADDOCK_METRICS_PORT: "udp://[fd00::12]:9090",
  PADDOCK_METRICS_PORT_9090_UDP: "udp://[fd00::12]:9090",
  PADDOCK_METRICS_PORT_9090_UDP_PROTO: "udp",
  PADDOCK_METRICS_PORT_9090_UDP_PORT: "9090",
  PADDOCK_METRICS_PORT_9090_UDP_ADDR: "fd00::12",
};

const load = (env: Record<string, string>) => loadConfig({ env, flags: {} });

describe("variables of Kubernetes Services", () => {
  test("are not the configuration's", () => {
    const env = { ...ofService, ...ofAnother, PADDOCK_LOG_LEVEL: "warn" };
    expect(load(env)).toEqual(load({ PADDOCK_LOG_LEVEL: "warn" }));
  });

  test("can be listed, for a line in the log", () => {
    expect(serviceVariables({ ...ofService, PADDOCK_LIMIT: "4", HOME: "/" })).toEqual(
      Object.keys(ofService),
    );
    expect(serviceVariables({ PADDOCK_PORT: "9000" })).toEqual([]);
  });

  test("leave a port that was meant alone", () => {
    const { PADDOCK_PORT: _, ...rest } = ofService;
    expect(load({ ...rest, PADDOCK_PORT: "9000" }).port).toBe(9000);
  });

  test.each([
    ["PADDOCK_PORT", "tcp", "'port' must be an integer"],
    ["PADDOCK_PORT", "http://10.96.0.12:8080", "'port' must be an integer"],
    ["PADDOCK_SERVICE_HOST", "node", "no such setting"],
    ["PADDOCK_SERVICE_PORT", "http", "no such setting"],
    ["PADDOCK_PORT_8080_TCP_PROTO", "8080", "no such setting"],
    ["PADDOCK_PORT_8080", "tcp://10.96.0.12:8080", "no such setting"],
    ["PADDOCK_LOG_LEVL", "warn", "no such setting"],
  ])("are told from a mistyped %s=%s", (name, value, message) => {
    expect(() => load({ [name]: value })).toThrow(message);
  });
});

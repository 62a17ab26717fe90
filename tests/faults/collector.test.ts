/** An OpenTelemetry collector that is away, or answers without end. */
import { describe, expect, test } from "bun:test";
import { OtlpTraces } from "../../src/telemetry/otlp-traces.ts";
import { otlpCollector } from "../support/otlp-collector.ts";
import { afterRequest, rawServer } from "../support/raw-server.ts";
import { recordingLog } from "../support/recording-log.ts";
import { testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const version = "1.2.3";

describe("a collector that is away", () => {
  test("is said once, and so is its return; no answer waits for it", async () => {
    const first = otlpCollector();
    const { endpoint } = first;
    await first[Symbol.asyncDispose]();
    const { log, lines } = recordingLog();
    await using traces = new OtlpTraces({ endpoint, version, log, timeoutMs: 60_000 });
    const app = testApp({ watchers: [traces] });
    const ask = async (): Promise<void> => {
      expect((await app.get("/v1/info")).status).toBe(200);
    };
    await ask();
    await waitFor("the warning", () => lines.length === 1);
    await ask();
    await using second = otlpCollector(Number(new URL(endpoint).port));
    await ask();
    await waitFor("a trace that arrives", () => second.spans.length > 0);
    await waitFor("the other line", () => lines.length === 2);
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ["warn", "traces cannot be delivered; they are dropped until the collector answers"],
      ["info", "traces are delivered again"],
    ]);
    expect(lines[0]?.fields).toEqual({ endpoint, reason: expect.any(String) });
  });
});

const early = "HTTP/1.1 103 Early Hints\r\n\r\n";
const begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

describe("a collector that answers without end", () => {
  test.each([
    ["that it is about to", early.repeat(2000), "it answers without end", 60_000],
    ["in single bytes", `${begun}${"1\r\n \r\n".repeat(2000)}`, "it answers without end", 60_000],
    ["a byte now and then", begun, "it gave no complete answer for 0.2 s", 200],
  ])("%s is left, which is said, and holds up no stop", async (_, sent, reason, timeoutMs) => {
    const isSlow = sent === begun;
    await using collector = await rawServer(
      afterRequest(sent, (socket) => {
        const timer = setInterval(() => socket.write(isSlow ? "1\r\n \r\n" : sent), 20);
        socket.on("close", () => clearInterval(timer));
      }),
    );
    const { log, lines } = recordingLog();
    {
      await using traces = new OtlpTraces({ endpoint: collector.url, version, log, timeoutMs });
      await testApp({ watchers: [traces] }).get("/v1/info");
      await waitFor("the warning", () => lines.length > 0);
    }
    expect(lines).toMatchObject([{ level: "warn", fields: { reason } }]);
  });
});

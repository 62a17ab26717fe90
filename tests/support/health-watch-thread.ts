/** The thread of health-watch.ts: told an address first, then asked for the slowest answer. */
declare const self: Worker;

const pauseMs = 10;
let slowest = 0;
/** When the question that is not answered yet was asked. */
let asked: number | undefined;

self.onmessage = ({ data }) => {
  if (data !== "slowest") {
    void watch(String(data));
    self.postMessage(0);
    return;
  }
  const open = asked === undefined ? 0 : performance.now() - asked;
  self.postMessage(Math.max(slowest, open));
  slowest = 0;
};

async function watch(origin: string): Promise<never> {
  for (;;) {
    asked = performance.now();
    const response = await fetch(`${origin}/health`);
    await response.arrayBuffer();
    slowest = Math.max(slowest, performance.now() - asked);
    asked = undefined;
    await Bun.sleep(pauseMs);
  }
}

/**
 * Gives every test two minutes, since models and processes need them on a machine that is busy.
 * Bun's own default is 5 seconds; bunfig.toml has no key for another, and `setDefaultTimeout` holds
 * for one file only. So it is called whenever the runner resolves a test file, just before loading
 * it, and `bun test PATH` and `bun test --watch PATH` work without a flag.
 */

import { setDefaultTimeout } from "bun:test";
import { plugin } from "bun";

const timeoutMs = 120_000;

plugin({
  name: "test-timeout",
  setup(build) {
    build.onResolve({ filter: /\.test\.ts$/ }, () => {
      setDefaultTimeout(timeoutMs);
      return undefined;
    });
  },
});

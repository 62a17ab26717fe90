/**
 * Gives every test twenty minutes, which only one that hangs needs: models and processes take seconds, and
 * up to a hundred times that on a machine that gives them a hundredth of a core.
 * Bun's own default is 5 seconds; bunfig.toml has no key for another, and `setDefaultTimeout` holds
 * for one file only. So it is called whenever the runner resolves a test file, just before loading
 * it, and `bun test PATH` and `bun test --watch PATH` work without a flag.
 */

import { setDefaultTimeout } from "bun:test";
import { plugin } from "bun";

const timeoutMs = 1_200_000;

plugin({
  name: "test-timeout",
  setup(build) {
    build.onResolve({ filter: /\.test\.ts$/ }, () => {
      setDefaultTimeout(timeoutMs);
      return undefined;
    });
  },
});

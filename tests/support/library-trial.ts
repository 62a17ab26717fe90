/**
 * The engine's library tries itself in a process of its own each time that it is loaded, which takes longer
 * than the tiny models do. As in the bundle and in the executable, it does not in the tests' own process.
 */
import { plugin } from "bun";

plugin({
  name: "library-trial",
  setup(build) {
    build.onLoad({ filter: /[\\/]bindings[\\/]utils[\\/]testBindingBinary\.js$/ }, () => ({
      contents: "export const testBindingBinary = async () => true;",
      loader: "js",
    }));
  },
});

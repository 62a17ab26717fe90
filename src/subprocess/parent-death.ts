/** Has the kernel end this process when the one that started it ends, whatever the loop of this one does. */
import { dlopen, FFIType } from "bun:ffi";

/** Of glibc, then of musl. */
const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const setParentDeathSignal = 1;
const sigkill = 9;

/**
 * Says whether the kernel will; only Linux does. It watches the thread that started this process: in
 * a node that is its main thread, which lives as long as the node. A parent that ended before the
 * call is not noticed: look at the parent's id before and after.
 */
export function endWithParentProcess(): boolean {
  for (const name of libraries) {
    try {
      const { symbols, close } = dlopen(name, {
        prctl: {
          args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64],
          returns: FFIType.i32,
        },
      });
      const result = symbols.prctl(setParentDeathSignal, sigkill, 0, 0, 0);
      close();
      return result === 0;
    } catch {
      // Another system's library.
    }
  }
  return false;
}

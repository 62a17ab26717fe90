/** How many times longer than alone on it a program takes on this machine now; at least 1. */

const sampleMs = 50;

export function contention(): number {
  const before = process.cpuUsage();
  const from = performance.now();
  let passed = 0;
  let rounds = 0;
  while (passed < sampleMs) {
    for (let at = 0; at < 1e5; at++) rounds = (rounds + at) | 0;
    const { user, system } = process.cpuUsage(before);
    passed = (user + system) / 1000;
  }
  return Math.max(1, (performance.now() - from) / passed);
}

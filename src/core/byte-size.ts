/** Formats byte counts for people: `1.5 GB`. */

const units = ["kB", "MB", "GB", "TB"] as const;

export function byteSize(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${Math.round(bytes)} bytes`;
  let value = bytes;
  let at = -1;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${value.toFixed(at > 0 ? 1 : 0)} ${units[at]}`;
}

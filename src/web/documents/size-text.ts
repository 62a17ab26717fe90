/** Numbers of bytes and of things, as people read them. */

const units = ["kB", "MB", "GB", "TB"] as const;

export function sizeText(bytes: number): string {
  if (bytes < 1000) return counted(bytes, "byte");
  let value = bytes;
  let at = -1;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${value.toFixed(at > 0 ? 1 : 0)} ${units[at]}`;
}

export const counted = (count: number, thing: string): string =>
  `${count} ${thing}${count === 1 ? "" : "s"}`;

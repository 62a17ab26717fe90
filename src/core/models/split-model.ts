/** Models that come in several files: `name-00001-of-00003.gguf` and so on; the first one names the model. */

const part = /-(\d{5})-of-(\d{5})(\.gguf)$/i;
/** A name that counts more parts is a mistake, or an attack. */
const mostParts = 1000;

/** All files of the model that a name or a path belongs to, the first one first; it alone where it is no part. */
export function partsOf(file: string): string[] {
  const [end, at, count, extension] = part.exec(file) ?? [];
  const [index, total] = [Number(at), Number(count)];
  if (end === undefined || index < 1 || index > total || total > mostParts) return [file];
  const start = file.slice(0, -end.length);
  return Array.from(
    { length: total },
    (_, number) => `${start}-${String(number + 1).padStart(5, "0")}-of-${count}${extension}`,
  );
}

/** Whether the file is a part that another one stands for. */
export const isLaterPart = (file: string): boolean => partsOf(file).indexOf(file) > 0;

/** At most so many are named. */
const mostNamed = 5;

/** What is wrong where some of a model's files are not there. */
export function missingParts(missing: readonly string[], all: number): string {
  const names = missing.slice(0, mostNamed).map((file) => `'${file.split(/[\\/]/).at(-1)}'`);
  const more = missing.length > mostNamed ? ` and ${missing.length - mostNamed} more` : "";
  const verb = missing.length === 1 ? "is" : "are";
  const whole = all === 1 ? "" : ` of its ${all} files`;
  return `${names.join(", ")}${more}${whole} ${verb} not there`;
}

/** Names of a model's files: split files, and quantized versions. */

const part = /-(\d{5})-of-(\d{5})(\.gguf)$/i;
/** More parts than this are a mistake, or an attack. */
const mostParts = 1000;

/** All parts of the model that a file belongs to, in order; only the file itself if it is not split. */
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

export const isLaterPart = (file: string): boolean => partsOf(file).indexOf(file) > 0;

const mostNamed = 5;

export function missingParts(missing: readonly string[], all: number): string {
  const names = missing.slice(0, mostNamed).map((file) => `'${file.split(/[\\/]/).at(-1)}'`);
  const more = missing.length > mostNamed ? ` and ${missing.length - mostNamed} more` : "";
  const verb = missing.length === 1 ? "is" : "are";
  const whole = all === 1 ? "" : ` of its ${all} files`;
  return `${names.join(", ")}${more}${whole} ${verb} not there`;
}

export const quantizations = ["f16", "q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_k_s", "q4_0"] as const;

export type Quantization = (typeof quantizations)[number];

/** Hexadecimal digits of a digest: enough to tell the files of one folder apart. */
const digestLength = 16;

/** The name of a quantized file; `digest`: of the source weights, so that other weights get another name. */
export const quantizedName = (file: string, type: Quantization, digest: string): string =>
  `${file.replace(/(-\d{5}-of-\d{5})?\.gguf$/i, "")}${markOf(digest)}${type}.gguf`;

/** Part of the name of every file that was made from these weights. */
export const markOf = (digest: string): string => `.from-${digest.slice(0, digestLength)}.`;

const quantized = new RegExp(
  `\\.from-[0-9a-f]{${digestLength}}\\.(${quantizations.join("|")})\\.gguf$`,
);

export const isQuantized = (file: string): boolean => quantized.test(file);

export const madeFromSuffix = ".made-from.json";

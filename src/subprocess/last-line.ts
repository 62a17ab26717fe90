/** The last line that a process wrote: where it failed, that tends to say why. */
export const lastLine = (output: string): string => output.trim().split("\n").at(-1) ?? "";

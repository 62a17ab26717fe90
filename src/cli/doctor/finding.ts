/** What a check of `paddock doctor` found. */

export interface Finding {
  /** What was looked at: `model tiny-chat`. */
  check: string;
  /** `note`: works, but may surprise. `problem`: must be fixed. */
  status: "ok" | "note" | "problem";
  /** What was found, as sentences. */
  message: string;
  /** What to do about it. */
  remedy?: string;
}

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message });

export const note = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: "note",
  message,
  remedy,
});

export const problem = (check: string, message: string, remedy: string): Finding => ({
  check,
  status: "problem",
  message,
  remedy,
});

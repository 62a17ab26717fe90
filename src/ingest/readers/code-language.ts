/** What is known of a programming language. */
import type { TextRule } from "./code-syntax.ts";

export interface Language {
  /** What follows a fence. */
  name: string;
  /** Endings of names, with spaces between them. */
  extensions: string;
  /** What ends a declaration: a bracket, a line that is not indented further, such a line with `end`, a semicolon. */
  blocks: "brackets" | "braces" | "indentation" | "end" | "statements";
  /** Strings and comments, the longest signs first. */
  texts: readonly TextRule[];
  /** Tried in order. */
  declarations: readonly Declaration[];
}

export interface Declaration {
  /** Matches a line without strings and comments; `name` is a group, and `of` what a method belongs to. */
  begins: RegExp;
  /**
   * A `container` has declarations inside. A `member` is one in a container only, and a `value` over
   * several lines only. The `routine` of SQL has statements inside.
   */
  kind: "function" | "container" | "type" | "value" | "member" | "routine";
}

export const anyName = String.raw`(?<name>[\p{L}_$][\p{L}\p{N}_$]*)`;

/** Words that languages with types write before a declaration. */
export const modifiers = `(?:(?:${[
  "public private protected internal static final abstract sealed override open virtual async",
  "readonly partial extern unsafe inline suspend data inner value annotation actual expect lateinit",
  "implicit lazy default native synchronized fileprivate mutating nonmutating indirect convenience",
  "required dynamic optional weak external late covariant factory const new",
]
  .join(" ")
  .replaceAll(" ", "|")})\\s+)*`;

/** Not a word that stands before a parenthesis without being a function's name. */
export const notKeyword = `(?!(?:${[
  "if for foreach while switch catch return throw new else do try using lock fixed sizeof typeof",
  "await yield delete case in of super when match guard synchronized",
]
  .join(" ")
  .replaceAll(" ", "|")})\\b)`;

/** A declaration by the beginning of its line. */
export const declares = (kind: Declaration["kind"], pattern: string, flags = "u"): Declaration => ({
  begins: new RegExp(`^\\s*${pattern}`, flags),
  kind,
});

/** What begins with one of these words and holds members. */
export const types = (words: string): Declaration =>
  declares("container", `${modifiers}(?:${words})\\s+${anyName}`);

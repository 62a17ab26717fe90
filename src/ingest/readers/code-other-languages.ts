/** Languages of scripts and queries: their blocks end by brackets, indentation, a word or a semicolon. */
import { anyName, declares, type Language, modifiers, types } from "./code-language.ts";
import { between, dollarQuoted, hereDocument, lineComment, nested, quoted } from "./code-syntax.ts";

const hash = lineComment("#");
const dashes = lineComment("--");
const texts = [quoted('"'), quoted("'")];

const created = String.raw`create\s+(?:or\s+(?:replace|alter)\s+)?(?:[a-z]+\s+){0,4}?`;
const sqlName = String.raw`(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?(?<name>[^\s(;]{1,200})`;

export const otherLanguages: readonly Language[] = [
  {
    name: "php",
    extensions: "php",
    blocks: "brackets",
    texts: [
      lineComment("//"),
      lineComment("#", "#(?!\\[)"),
      between("/*", "*/"),
      hereDocument(String.raw`<<<[ \t]*["']?[A-Za-z_]\w*["']?`),
      quoted('"', { long: true }),
      quoted("'", { long: true }),
    ],
    declarations: [
      declares("container", String.raw`namespace\s+(?<name>[\w\\]+)\s*\{`),
      types("class|interface|trait|enum"),
      declares("function", String.raw`${modifiers}function\s+&?\s*${anyName}`),
    ],
  },
  {
    name: "python",
    extensions: "py pyi",
    blocks: "indentation",
    texts: [hash, quoted('"""', { long: true }), quoted("'''", { long: true }), ...texts],
    declarations: [
      declares("container", String.raw`class\s+${anyName}`),
      declares("function", String.raw`(?:async\s+)?def\s+${anyName}`),
    ],
  },
  {
    name: "ruby",
    extensions: "rb rake",
    blocks: "end",
    texts: [
      between("\n=begin", "\n=end"),
      hash,
      hereDocument(String.raw`<<[~-]?["']?[A-Z_]\w*["']?`),
      ...texts,
    ],
    declarations: [
      declares("container", String.raw`(?:class|module)\s+(?<name>[A-Z][\w:]*)`),
      declares(
        "function",
        String.raw`(?:(?:private|protected|public|module_function)\s+)?def\s+(?<name>(?:self\.)?[^\s(;]{1,100})`,
      ),
    ],
  },
  {
    name: "lua",
    extensions: "lua",
    blocks: "end",
    texts: [between("--[[", "]]"), dashes, between("[[", "]]"), ...texts],
    declarations: [declares("function", String.raw`(?:local\s+)?function\s+(?<name>[\w.:]+)`)],
  },
  {
    name: "bash",
    extensions: "sh bash zsh",
    blocks: "braces",
    texts: [
      // Elsewhere it is part of a word, as in `${#list}`.
      lineComment("#", "(?:^|(?<=[\\s;(]))#"),
      hereDocument(String.raw`<<-?[ \t]*["'\\]?[A-Za-z_]\w*["']?`),
      quoted('"', { long: true }),
      between("'"),
    ],
    declarations: [
      declares("function", String.raw`function\s+(?<name>[\w:.-]+)`),
      declares("function", String.raw`(?<name>[\w:.-]+)\s*\(\s*\)`),
    ],
  },
  {
    name: "sql",
    extensions: "sql",
    blocks: "statements",
    texts: [dashes, nested("/*", "*/"), dollarQuoted, between("'")],
    declarations: [
      declares(
        "routine",
        `${created}(?:function|procedure|proc|trigger|package(?:\\s+body)?)\\s+${sqlName}`,
        "iu",
      ),
      declares(
        "type",
        `${created}(?:table|view|index|type|schema|sequence|domain|extension|policy|role|database)\\s+${sqlName}`,
        "iu",
      ),
    ],
  },
];

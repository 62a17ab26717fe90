/** Languages that are compiled, and JavaScript: their blocks stand in brackets. */
import { regex, template } from "./code-javascript.ts";
import {
  anyName,
  type Declaration,
  declares,
  type Language,
  modifiers,
  notKeyword,
  types,
} from "./code-language.ts";
import {
  between,
  character,
  lineComment,
  nested,
  quoted,
  rawString,
  type TextRule,
} from "./code-syntax.ts";

const slashes = lineComment("//");
const block = between("/*", "*/");
const nestedBlock = nested("/*", "*/");
const long = quoted('"""', { long: true });
const text = quoted('"');

const exported = String.raw`(?:export\s+)?(?:default\s+)?(?:declare\s+)?`;
const javascript = (name: string, extensions: string): Language => ({
  name,
  extensions,
  blocks: "brackets",
  texts: [slashes, block, text, quoted("'"), template, regex],
  declarations: [
    declares("function", String.raw`${exported}(?:async\s+)?function\b\s*\*?\s*${anyName}`),
    declares(
      "container",
      String.raw`${exported}(?:abstract\s+)?(?:const\s+)?(?:class|enum|namespace|module)\s+${anyName}`,
    ),
    declares("type", String.raw`${exported}(?:interface|type)\s+${anyName}`),
    declares("value", String.raw`(?:export\s+)?(?:const|let|var)\s+${anyName}`),
    declares(
      "member",
      String.raw`(?:(?:public|private|protected|static|async|get|set|override|readonly|abstract)\s+)*\*?(?!(?:if|for|while|switch|catch|return)\b)(?<name>#?[\p{L}_$][\p{L}\p{N}_$]*)\s*(?:<[^;{}]{0,200}>\s*)?\(`,
    ),
  ],
});

/** A type, a name, parameters, and no semicolon. */
const typed = (kind: Declaration["kind"]): Declaration =>
  declares(
    kind,
    String.raw`${modifiers}${notKeyword}(?:<[^;={}]{0,200}>\s*)?(?:[\p{L}_][\p{L}\p{N}_.]*(?:<[^;={}]{0,200}>)?(?:\[\])*\??\s+)?${notKeyword}${anyName}\s*(?:<[^;={}]{0,200}>\s*)?\(`,
  );

const cLike = (name: string, extensions: string, texts: readonly TextRule[]): Language => ({
  name,
  extensions,
  blocks: "brackets",
  texts,
  declarations: [
    declares("container", String.raw`(?:inline\s+)?namespace\s+(?<name>[\w:]+)`),
    declares(
      "container",
      String.raw`(?:template\s*<[^{;]{0,300}>\s*)?(?:typedef\s+)?(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[[^\]]*\]\]\s*|[A-Z_]+\s+)?(?<name>[\p{L}_][\p{L}\p{N}_:]*)(?![^;{}]{0,300}[;(])`,
    ),
    declares(
      "function",
      String.raw`(?:template\s*<[^{;]{0,300}>\s*)?${notKeyword}(?:[\p{L}_][\p{L}\p{N}_:<>,*&\s]{0,300}?[\s*&])?${notKeyword}(?<name>~?[\p{L}_][\p{L}\p{N}_:~]*|[\p{L}\p{N}_:]*operator\s*[^\s(]{1,3})\s*\(`,
    ),
  ],
});

const visible = String.raw`(?:pub(?:\([^)]*\))?\s+)?`;

export const bracketLanguages: readonly Language[] = [
  javascript("typescript", "ts mts cts"),
  javascript("tsx", "tsx"),
  javascript("javascript", "js mjs cjs jsx"),
  {
    name: "go",
    extensions: "go",
    blocks: "brackets",
    texts: [slashes, block, between("`"), text, character],
    declarations: [
      declares(
        "function",
        String.raw`func\s+(?:\([^)]*?(?<of>[\p{L}_][\p{L}\p{N}_]*)(?:\[[^\]]*\])?\s*\)\s*)?${anyName}`,
      ),
      declares("type", String.raw`type\s+${anyName}`),
      declares("value", String.raw`(?:var|const)\s+${anyName}`),
    ],
  },
  {
    name: "rust",
    extensions: "rs",
    blocks: "brackets",
    texts: [slashes, nestedBlock, rawString, text, character],
    declarations: [
      declares(
        "function",
        String.raw`${visible}(?:default\s+|const\s+|async\s+|unsafe\s+|extern\s+)*fn\s+${anyName}`,
      ),
      declares(
        "container",
        String.raw`(?:unsafe\s+)?impl\b(?:<[^{]{0,200}?>)?\s*(?:[^{]{0,200}?\bfor\s+)?&?(?:mut\s+)?(?:[\p{L}\p{N}_]+::)*${anyName}`,
      ),
      declares("container", String.raw`${visible}(?:unsafe\s+)?(?:mod|trait)\s+${anyName}`),
      declares("type", String.raw`${visible}(?:struct|enum|union|type)\s+${anyName}`),
      declares("function", String.raw`macro_rules!\s*${anyName}`),
      declares("value", String.raw`${visible}(?:static|const)\s+(?:mut\s+)?${anyName}`),
    ],
  },
  {
    name: "java",
    extensions: "java",
    blocks: "brackets",
    texts: [slashes, block, long, text, character],
    declarations: [types("class|interface|enum|record|@interface"), typed("member")],
  },
  {
    name: "csharp",
    extensions: "cs",
    blocks: "brackets",
    texts: [
      slashes,
      block,
      between('"""'),
      between('$@"', '"'),
      between('@"', '"'),
      text,
      character,
    ],
    declarations: [
      declares("container", String.raw`namespace\s+(?<name>[\p{L}\p{N}_.]+)`),
      types("class|interface|enum|struct|record(?:\\s+(?:class|struct))?"),
      typed("member"),
    ],
  },
  {
    name: "kotlin",
    extensions: "kt kts",
    blocks: "brackets",
    texts: [slashes, nestedBlock, between('"""'), text, character],
    declarations: [
      types("class|interface|object|enum\\s+class"),
      declares(
        "function",
        String.raw`${modifiers}(?:operator\s+|infix\s+|tailrec\s+)*fun\s+(?:<[^(]{0,200}>\s*)?(?:[\p{L}\p{N}_<>?, ]{1,100}\.)?${anyName}`,
      ),
    ],
  },
  {
    name: "scala",
    extensions: "scala",
    blocks: "brackets",
    texts: [slashes, nestedBlock, between('"""'), text, character],
    declarations: [
      types("(?:case\\s+)?class|trait|(?:case\\s+)?object|enum"),
      declares("function", `${modifiers}def\\s+${anyName}`),
    ],
  },
  {
    name: "swift",
    extensions: "swift",
    blocks: "brackets",
    texts: [slashes, nestedBlock, long, between('#"', '"#'), text],
    declarations: [
      declares("function", String.raw`${modifiers}(?:class\s+)?func\s+(?<name>[^\s(<]{1,100})`),
      types("class|struct|enum|protocol|extension|actor"),
      declares("member", `${modifiers}(?<name>init|deinit)\\b`),
    ],
  },
  {
    name: "dart",
    extensions: "dart",
    blocks: "brackets",
    texts: [slashes, block, long, quoted("'''", { long: true }), text, quoted("'")],
    declarations: [types("(?:base\\s+)?class|mixin|enum|extension"), typed("function")],
  },
  cLike("c", "c h", [slashes, block, text, character]),
  cLike("cpp", "cpp cc cxx hpp hh hxx", [slashes, block, rawString, text, character]),
];

import { describe, expect, test } from "bun:test";
import { chunk } from "../../../../src/ingest/chunk.ts";
import { codeExtensions } from "../../../../src/ingest/readers/formats.ts";
import { readDocument } from "../../../../src/ingest/readers/read.ts";

const read = async (name: string, code: string): Promise<readonly string[]> =>
  await readDocument(name, new TextEncoder().encode(code));

/** The headings that passages stand under, without repetitions. */
async function paths(name: string, code: string): Promise<string[]> {
  const texts = await read(name, code);
  const cut = await chunk(texts, {
    maxTokens: 256,
    overlapTokens: 32,
    countTokens: async (pieces) => pieces.map(({ length }) => Math.ceil(length / 4)),
  });
  const all = cut.map(({ heading }) => heading);
  return all.filter((heading, index) => heading !== all[index - 1]);
}

/** Makes a class too long for one passage. */
const filler = (comment: string): string => `${comment} ${"long ".repeat(150)}`;

describe("a program", () => {
  test("is cut into its blocks, with the comments above them", async () => {
    const code = `import { a } from "./a.ts";
const limit = 5;

/** Adds { two numbers. */
export function add(left: number, right: number): number {
  const text = \`}\${[1, 2].map((x) => \`{\${x}}\`)}\`; // }
  return left + right / 2 / 1 + Number(/[/}"]/.test("}")) + text.length;
}
export const twice = (value: number): number =>
  add(value, value);
`;
    expect(await read("a.ts", code)).toEqual([
      '```typescript\nimport { a } from "./a.ts";\nconst limit = 5;\n```',
      `# export function add(left: number, right: number): number\n\n\`\`\`typescript\n${code.split("\n").slice(3, 8).join("\n")}\n\`\`\``,
      "# export const twice = (value: number): number\n\n```typescript\nexport const twice = (value: number): number =>\n  add(value, value);\n```",
    ]);
  });

  test("keeps a short class whole, and cuts a long one into its long methods", async () => {
    const short = "class Llama:\n    def hum(self):\n        return 'hm'\n";
    expect(await read("a.py", short)).toEqual([
      `# class Llama\n\n\`\`\`python\n${short.trim()}\n\`\`\``,
    ]);
    const long = `class Llama:\n    """${filler("Hums.")}"""\n    legs = 4\n\n    @property\n    def hum(self):\n        # ${filler("why")}\n        return {\n        'a': 1\n    }\n\n    async def spit(\n        self,\n    ):\n        pass  # ${filler("so")}\n\n\ndef main():\n    pass\n`;
    const [llama, main] = await read("a.py", long);
    expect(llama?.match(/^#.*$/gm)).toEqual([
      "# class Llama",
      "## def hum(self)",
      "## async def spit",
    ]);
    expect(llama).toEndWith(
      `## async def spit\n\n\`\`\`python\n    async def spit(\n        self,\n    ):\n        pass  # ${filler("so").trimEnd()}\n\`\`\``,
    );
    expect(main).toStartWith("# def main()");
  });

  test.each<[string, string, string[]]>([
    [
      "a.js",
      `'use strict'\nclass A extends B {\n  ${filler("//")}\n  #x = 1\n  async *go(a, b) {\n    if (a) { b('}') }\n  }\n  get x() {\n    return 1\n  }\n  static delete() {\n    return 2\n  }\n}\nfunction* gen() {\n  yield 1\n}\nmodule.exports = {\n  A,\n}\n`,
      [
        "class A extends B",
        "class A extends B > async *go(a, b)",
        "function* gen()",
        "module.exports =",
      ],
    ],
    [
      "a.tsx",
      `interface Props {\n  name: string\n}\nexport default function View({ name }: Props) {\n  return <p title="}">Don't {name}</p>\n}\ntype Either =\n  | { a: 1 }\n  | { b: 2 }\nexport enum Kind {\n  One,\n}\n`,
      [
        "interface Props",
        "export default function View({ name }: Props)",
        "type Either",
        "export enum Kind",
      ],
    ],
    [
      "a.go",
      'package a\n\nimport (\n\t"fmt"\n)\n\n// Server serves.\ntype Server struct {\n\tname string\n}\n\nfunc (s *Server) Run(ctx context.Context) error {\n\tfmt.Println(`}`, \'}\', "}")\n\treturn nil\n}\n\nfunc Map[T any](all []T) []T {\n\treturn all\n}\n',
      [
        "",
        "import",
        "type Server struct",
        "func (s *Server) Run(ctx context.Context) error",
        "func Map[T any](all []T) []T",
      ],
    ],
    [
      "a.rs",
      `use std::fmt;\n\n/// A llama.\n#[derive(Debug)]\npub struct Llama<'a> {\n    name: &'a str,\n}\n\nimpl<'a> fmt::Display for Llama<'a> {\n    ${filler("//")}\n    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {\n        write!(f, r#"}"{}"#, '}')\n    }\n}\n\n#[test]\nfn hums() {\n    /* } /* } */ } */\n}\n`,
      ["", "pub struct Llama<'a>", "impl<'a> fmt::Display for Llama<'a>", "fn hums()"],
    ],
    [
      "A.java",
      `package a;\n\n/** Hums. */\n@Component(\n    name = "x"\n)\npublic class Llama<T> implements Animal {\n  ${filler("//")}\n  private final int legs = 4;\n  /** Makes one. */\n  public Llama(int legs) {\n    this.legs = legs;\n  }\n  @Override\n  public <R> List<R> hum(String a, int b)\n      throws IOException {\n    String text = """\n      } " }\n      """;\n    return null;\n  }\n  interface Inner {\n    void run();\n  }\n}\n`,
      [
        "",
        "public class Llama<T> implements Animal",
        "public class Llama<T> implements Animal > public Llama(int legs)",
      ],
    ],
    [
      "a.cs",
      `using System;\nnamespace Farm.Animals\n{\n    ${filler("//")}\n    [Serializable]\n    public sealed class Llama : Animal\n    {\n        ${filler("//")}\n        public string Name { get; set; } = @"a\\";\n        public async Task<int> HumAsync(\n            int times)\n        {\n            return times;\n        }\n    }\n}\n`,
      [
        "namespace Farm.Animals",
        "namespace Farm.Animals > public sealed class Llama : Animal",
        "namespace Farm.Animals > public sealed class Llama : Animal > public async Task<int> HumAsync",
      ],
    ],
    [
      "a.cpp",
      '#include <vector>\n\nnamespace farm {\ntemplate <typename T>\nclass Herd {\n public:\n  Herd() : size_{0} {}\n};\n}  // namespace farm\n\nvoid Herd::add(int a,\n               int b = {})\n{\n  auto x = R"(})";\n  int y = 1\'000;\n}\nstatic const int table[] = {\n  1,\n};\n',
      ["", "class Herd", "void Herd::add(int a,", "static const int table[] ="],
    ],
    [
      "a.c",
      "#define X 1\n/* Adds. */\nstatic int add(int a, int b) {\n  return a + b; /* } */\n}\nstruct point {\n  int x;\n};\nint add(int, int);\n",
      ["static int add(int a, int b)", "struct point", ""],
    ],
    [
      "a.kt",
      `package a\n\ndata class Point(\n    val x: Int,\n)\n\nfun String.shout(): String {\n    return "\${this}}"\n}\n\nprivate fun one() =\n    1\n`,
      ["", "data class Point", "fun String.shout(): String", "private fun one()"],
    ],
    [
      "a.swift",
      'import UIKit\n\nextension Llama {\n    static func hum(_ times: Int) -> String {\n        return #"}"}"#\n    }\n}\n\nfunc ==(a: Llama, b: Llama) -> Bool {\n    true\n}\n',
      ["", "extension Llama", "func ==(a: Llama, b: Llama) -> Bool"],
    ],
    [
      "a.php",
      `<?php\nnamespace Farm;\n\n#[Attr]\nfinal class Llama\n{\n    // ${filler("x")}\n    public function hum(int $times): string\n    {\n        $a = <<<EOT\n        } it's {$times}\n        EOT;\n        return 'a\\'}' . "}"; # }\n    }\n}\n\nfunction helper()\n{\n    return 1;\n}\n?>\n`,
      [
        "",
        "final class Llama",
        "final class Llama > public function hum(int $times): string",
        "function helper()",
      ],
    ],
    [
      "a.rb",
      `require "a"\n\nmodule Farm\n  class Llama < Animal\n    # ${filler("x")}\n    attr_reader :name\n    def initialize(name)\n      @name = name\n    end\n\n    def self.hum?\n      text = <<~TEXT\n        end\n      TEXT\n      text << "x"\n    end\n  end\nend\n`,
      [
        "",
        "module Farm",
        "module Farm > class Llama < Animal",
        "module Farm > class Llama < Animal > def initialize(name)",
      ],
    ],
    [
      "a.lua",
      "local M = {}\n--[[ function no()\n]]\nfunction M.hum(n)\n  return [[\nend]]\nend\nlocal function two()\n  return 2\nend\nreturn M\n",
      ["", "function M.hum(n)", "local function two()", ""],
    ],
    [
      "a.sh",
      '#!/bin/sh\nset -eu\n\nhum() {\n  echo "}" \'}\' "$#" # }\n  cat <<EOF\n}\nEOF\n  case $1 in a) echo a ;; esac\n}\n\nfunction spit {\n  hum\n}\nhum "$@"\n',
      ["", "hum()", "EOF", "function spit", ""],
    ],
    [
      "a.sql",
      "-- tables\nCREATE TABLE IF NOT EXISTS herd.llama (\n  id int, -- ;\n  name text DEFAULT ';'\n);\n\nINSERT INTO llama VALUES (1, 'a');\n\nCREATE OR REPLACE FUNCTION hum(n int) RETURNS text AS $$\nBEGIN\n  RETURN 'hm';\nEND;\n$$ LANGUAGE plpgsql;\n\ncreate procedure spit as\nbegin\n  select 1;\n  select 2;\nend\ngo\n",
      [
        "CREATE TABLE IF NOT EXISTS herd.llama",
        "",
        "CREATE OR REPLACE FUNCTION hum(n int) RETURNS text AS $$",
        "",
        "create procedure spit as",
        "",
      ],
    ],
    [
      "a.dart",
      "import 'a.dart';\n\nclass Llama {\n  final String name = '}';\n  void hum() {\n    print(name);\n  }\n}\n\nvoid main() async {\n  print('''}''');\n}\n",
      ["", "class Llama", "void main() async"],
    ],
    [
      "a.scala",
      'object Farm {\n  def hum(n: Int): String = {\n    """}"""\n  }\n}\n\ncase class Llama(\n  name: String\n)\n',
      ["object Farm", "case class Llama"],
    ],
  ])("in %s has the lines that begin its blocks as headings", async (name, code, headings) => {
    expect(await paths(name, code)).toEqual(headings);
    const text = (await read(name, code)).join("\n");
    const lost = code
      .split("\n")
      .filter((line) => /\w/.test(line) && !text.includes(line.trimEnd()));
    expect(lost).toEqual([]);
  });

  test("is never cut within a function that fits", async () => {
    const bodies = Array.from(
      { length: 40 },
      (_, at) => `function f${at}() {\n  ${"call();".repeat(at + 1)}\n}`,
    );
    expect(await paths("a.js", bodies.join("\n\n"))).toEqual(
      bodies.map((_, at) => `function f${at}()`),
    );
    const texts = await read("a.js", bodies.join("\n\n"));
    expect(texts.map((text) => text.split("```")[1]?.slice("javascript\n".length, -1))).toEqual(
      bodies,
    );
  });

  test.each([
    [
      "brackets that are never closed",
      "a.ts",
      "function a() {\n  (\n}\n\nfunction b() {\n  return 1;\n}\n",
      ["function a()", "function b()"],
    ],
    [
      "a string that is never closed",
      "a.php",
      "<?php\n$a = 'x;\nfunction a() {\n  return 1;\n}\n",
      ["function a()"],
    ],
    [
      "a comment that is never closed",
      "a.c",
      "int a() {\n  return 1; /* x\n}\nint b() {\n  return 2;\n}\n",
      ["int a()", "int b()"],
    ],
    ["one line", "a.js", "function a(){return 1}function b(){return 2}", [""]],
  ])("may have %s", async (_, name, code, headings) => {
    expect(await paths(name, code)).toEqual(headings);
  });

  test("without anything in it gives no text, in every language", async () => {
    for (const extension of codeExtensions) {
      expect(await read(`a${extension}`, " \r\n\n")).toEqual([]);
      expect(await read(`a${extension}`, "}\r\n)")).toEqual([]);
    }
  });

  test("may hold fences", async () => {
    expect(await read("a.py", 'x = """\n```\n"""\n')).toEqual([
      '````python\nx = """\n```\n"""\n````',
    ]);
  });
});

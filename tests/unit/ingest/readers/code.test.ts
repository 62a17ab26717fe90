import { describe, expect, test } from "bun:test";
import { chunk } from "../../../../src/ingest/chunk.ts";
import { codeExtensions } from "../../../../src/ingest/readers/code-languages.ts";
import { readDocument } from "../../../../src/ingest/readers/read.ts";

const read = async (name: string, code: string): Promise<readonly string[]> =>
  await readDocument(name, new TextEncoder().encode(code));

/** The paths of names that passages stand under, without repetitions. */
async function paths(name: string, code: string): Promise<string[]> {
  const texts = await read(name, code);
  const cut = await Promise.all(
    texts.map((text) =>
      chunk(text, {
        maxTokens: 256,
        overlapTokens: 32,
        countTokens: async (piece) => Math.ceil(piece.length / 4),
      }),
    ),
  );
  const all = cut.flat().map(({ heading }) => heading);
  return all.filter((heading, index) => heading !== all[index - 1]);
}

/** Makes a class too long for one passage. */
const filler = (comment: string): string => `${comment} ${"long ".repeat(150)}`;

describe("a program", () => {
  test("is cut into its declarations, with the comments above them", async () => {
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
      `# add\n\n\`\`\`typescript\n${code.split("\n").slice(3, 8).join("\n")}\n\`\`\``,
      "# twice\n\n```typescript\nexport const twice = (value: number): number =>\n  add(value, value);\n```",
    ]);
  });

  test("keeps a short class whole, and cuts a long one into its methods", async () => {
    const short = "class Llama:\n    def hum(self):\n        return 'hm'\n";
    expect(await read("a.py", short)).toEqual([`# Llama\n\n\`\`\`python\n${short.trim()}\n\`\`\``]);
    const long = `class Llama:\n    """${filler("Hums.")}"""\n    legs = 4\n\n    @property\n    def hum(self):\n        # why\n        return {\n        'a': 1\n    }\n\n    async def spit(\n        self,\n    ):\n        pass\n\n\ndef main():\n    pass\n`;
    const [llama, main] = await read("a.py", long);
    expect(llama?.match(/^#.*$/gm)).toEqual(["# Llama", "## hum", "## spit"]);
    expect(llama).toEndWith(
      "## spit\n\n```python\n    async def spit(\n        self,\n    ):\n        pass\n```",
    );
    expect(main).toStartWith("# main");
  });

  test.each<[string, string, string[]]>([
    [
      "a.js",
      `'use strict'\nclass A extends B {\n  ${filler("//")}\n  #x = 1\n  async *go(a, b) {\n    if (a) { b('}') }\n  }\n  get x() {\n    return 1\n  }\n  static delete() {\n    return 2\n  }\n}\nfunction* gen() {\n  yield 1\n}\nmodule.exports = {\n  A,\n}\n`,
      ["", "A", "A > go", "A > x", "A > delete", "gen", ""],
    ],
    [
      "a.tsx",
      `interface Props {\n  name: string\n}\nexport default function View({ name }: Props) {\n  return <p title="}">Don't {name}</p>\n}\ntype Either =\n  | { a: 1 }\n  | { b: 2 }\nexport enum Kind {\n  One,\n}\n`,
      ["Props", "View", "Either", "Kind"],
    ],
    [
      "a.go",
      'package a\n\nimport (\n\t"fmt"\n)\n\n// Server serves.\ntype Server struct {\n\tname string\n}\n\nfunc (s *Server) Run(ctx context.Context) error {\n\tfmt.Println(`}`, \'}\', "}")\n\treturn nil\n}\n\nfunc Map[T any](all []T) []T {\n\treturn all\n}\n',
      ["", "Server", "Server > Run", "Map"],
    ],
    [
      "a.rs",
      `use std::fmt;\n\n/// A llama.\n#[derive(Debug)]\npub struct Llama<'a> {\n    name: &'a str,\n}\n\nimpl<'a> fmt::Display for Llama<'a> {\n    ${filler("//")}\n    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {\n        write!(f, r#"}"{}"#, '}')\n    }\n}\n\n#[test]\nfn hums() {\n    /* } /* } */ } */\n}\n`,
      ["", "Llama", "Llama > fmt", "hums"],
    ],
    [
      "A.java",
      `package a;\n\n/** Hums. */\n@Component(\n    name = "x"\n)\npublic class Llama<T> implements Animal {\n  ${filler("//")}\n  private final int legs = 4;\n  /** Makes one. */\n  public Llama(int legs) {\n    this.legs = legs;\n  }\n  @Override\n  public <R> List<R> hum(String a, int b)\n      throws IOException {\n    String text = """\n      } " }\n      """;\n    return null;\n  }\n  interface Inner {\n    void run();\n  }\n}\n`,
      ["", "Llama", "Llama > Llama", "Llama > hum", "Llama > Inner"],
    ],
    [
      "a.cs",
      `using System;\nnamespace Farm.Animals\n{\n    ${filler("//")}\n    [Serializable]\n    public sealed class Llama : Animal\n    {\n        ${filler("//")}\n        public string Name { get; set; } = @"a\\";\n        public async Task<int> HumAsync(\n            int times)\n        {\n            return times;\n        }\n    }\n}\n`,
      ["", "Farm.Animals", "Farm.Animals > Llama", "Farm.Animals > Llama > HumAsync"],
    ],
    [
      "a.cpp",
      '#include <vector>\n\nnamespace farm {\ntemplate <typename T>\nclass Herd {\n public:\n  Herd() : size_{0} {}\n};\n}  // namespace farm\n\nvoid Herd::add(int a,\n               int b = {})\n{\n  auto x = R"(})";\n  int y = 1\'000;\n}\nstatic const int table[] = {\n  1,\n};\n',
      ["", "farm", "Herd::add", ""],
    ],
    [
      "a.c",
      "#define X 1\n/* Adds. */\nstatic int add(int a, int b) {\n  return a + b; /* } */\n}\nstruct point {\n  int x;\n};\nint add(int, int);\n",
      ["", "add", "point", ""],
    ],
    [
      "a.kt",
      `package a\n\ndata class Point(\n    val x: Int,\n)\n\nfun String.shout(): String {\n    return "\${this}}"\n}\n\nprivate fun one() =\n    1\n`,
      ["", "Point", "shout", "one"],
    ],
    [
      "a.swift",
      'import UIKit\n\nextension Llama {\n    static func hum(_ times: Int) -> String {\n        return #"}"}"#\n    }\n}\n\nfunc ==(a: Llama, b: Llama) -> Bool {\n    true\n}\n',
      ["", "Llama", "=="],
    ],
    [
      "a.php",
      `<?php\nnamespace Farm;\n\n#[Attr]\nfinal class Llama\n{\n    // ${filler("x")}\n    public function hum(int $times): string\n    {\n        $a = <<<EOT\n        } it's {$times}\n        EOT;\n        return 'a\\'}' . "}"; # }\n    }\n}\n\nfunction helper()\n{\n    return 1;\n}\n?>\n`,
      ["", "Llama", "Llama > hum", "helper"],
    ],
    [
      "a.rb",
      `require "a"\n\nmodule Farm\n  class Llama < Animal\n    # ${filler("x")}\n    attr_reader :name\n    def initialize(name)\n      @name = name\n    end\n\n    def self.hum?\n      text = <<~TEXT\n        end\n      TEXT\n      text << "x"\n    end\n  end\nend\n`,
      ["", "Farm", "Farm > Llama", "Farm > Llama > initialize", "Farm > Llama > self.hum?"],
    ],
    [
      "a.lua",
      "local M = {}\n--[[ function no()\n]]\nfunction M.hum(n)\n  return [[\nend]]\nend\nlocal function two()\n  return 2\nend\nreturn M\n",
      ["", "M.hum", "two", ""],
    ],
    [
      "a.sh",
      '#!/bin/sh\nset -eu\n\nhum() {\n  echo "}" \'}\' "$#" # }\n  cat <<EOF\n}\nEOF\n  case $1 in a) echo a ;; esac\n}\n\nfunction spit {\n  hum\n}\nhum "$@"\n',
      ["", "hum", "spit", ""],
    ],
    [
      "a.sql",
      "-- tables\nCREATE TABLE IF NOT EXISTS herd.llama (\n  id int, -- ;\n  name text DEFAULT ';'\n);\n\nINSERT INTO llama VALUES (1, 'a');\n\nCREATE OR REPLACE FUNCTION hum(n int) RETURNS text AS $$\nBEGIN\n  RETURN 'hm';\nEND;\n$$ LANGUAGE plpgsql;\n\ncreate procedure spit as\nbegin\n  select 1;\n  select 2;\nend\ngo\n",
      ["herd.llama", "", "hum", "spit", ""],
    ],
    [
      "a.dart",
      "import 'a.dart';\n\nclass Llama {\n  final String name = '}';\n  void hum() {\n    print(name);\n  }\n}\n\nvoid main() async {\n  print('''}''');\n}\n",
      ["", "Llama", "main"],
    ],
    [
      "a.scala",
      'object Farm {\n  def hum(n: Int): String = {\n    """}"""\n  }\n}\n\ncase class Llama(\n  name: String\n)\n',
      ["Farm", "Llama"],
    ],
  ])("in %s has the paths of its names as headings", async (name, code, headings) => {
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
      (_, at) => `function f${at}() {\n  ${"call();".repeat(at)}\n}`,
    );
    expect(await paths("a.js", bodies.join("\n\n"))).toEqual(bodies.map((_, at) => `f${at}`));
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
      ["a", "b"],
    ],
    [
      "a string that is never closed",
      "a.php",
      "<?php\n$a = 'x;\nfunction a() {\n  return 1;\n}\n",
      ["", "a"],
    ],
    [
      "a comment that is never closed",
      "a.c",
      "int a() {\n  return 1; /* x\n}\nint b() {\n  return 2;\n}\n",
      ["a", "b"],
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

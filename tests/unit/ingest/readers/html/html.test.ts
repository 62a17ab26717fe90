import { describe, expect, test } from "bun:test";
import { type ReadText, readDocument } from "../../../../../src/ingest/readers/read.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = (html: string, name = "a.html"): Promise<ReadText> =>
  readDocument(name, new TextEncoder().encode(html));

const latin = (text: string): Uint8Array =>
  Uint8Array.from(text, (character) => character.charCodeAt(0));

const page = async (html: string): Promise<string> => (await read(html)).join("\n-----\n");

describe("a page", () => {
  test("is its text under its headings, without what is not text", async () => {
    const html = `<!DOCTYPE html>
      <html><head><title>Not the title</title><style>p > a { color: red }</style></head>
      <body>
        <header><h1>Llamas</h1></header>
        <nav><ul><li><a href="/">Home</a></li></ul></nav>
        <p>They <a href="https://example.com">hum</a> and
          <b>spit</b>, <i>often</i>.<br>Then they rest.<br><br> <br><br>Often.</p>
        <script>if (a < b) document.write("</p><p>no</p>")</script>
        <template><p>no</p></template><noscript><p>no</p></noscript>
        <form><label>Search <input></label><button>no</button></form>
        <p hidden>no</p><!-- <p>no</p> -->
        <h2>Food<script>no</script> <a class="headerlink" href="#food">¶</a></h2>
        <blockquote><p>Hay</p><p>and grass</p></blockquote>
        <aside>no</aside><img src="x.png" alt="no"><hr>
        <footer>no</footer>
      </body></html>`;
    expect(await read(html)).toEqual([
      "# Llamas\n\nThey hum and spit, often.\nThen they rest.\n\nOften.\n\n## Food\n\n> Hay\n>\n> and grass",
    ]);
  });

  test("without a heading of level 1 has its title as one", async () => {
    expect(
      await page(
        "<svg><title>no</title></svg><title>Llamas &amp;\n co</title><title>no</title><h2>Food</h2><p>Hay",
      ),
    ).toBe("# Llamas & co\n\n## Food\n\nHay");
  });

  test("without text gives none", async () => {
    expect(await read("<script>app()</script><div></div>")).toEqual([]);
  });

  test("is what its main part says, if that is most of it", async () => {
    const menu = "<div>Menu</div>";
    expect(
      await Promise.all([
        page(`${menu}<main><p>Llamas hum.</p></main>`),
        page(`${menu}<main>Hi</main><p>Llamas hum.</p>`),
      ]),
    ).toEqual(["Llamas hum.", "Menu\n\nHi\n\nLlamas hum."]);
  });

  test("may be one large form", async () => {
    expect(await page("<form action=x><p>Llamas hum.</p><nav>no</nav></form>")).toBe("Llamas hum.");
  });

  test("keeps words apart or together as a browser does", async () => {
    expect(
      await page("<p>one\n<b>two</b>\nthree<b>four</b> <div>five</div>six<p>A<wbr>B so&shy;ft"),
    ).toBe("one two threefour\n\nfive\n\nsix\n\nAB soft");
  });

  test("has its entities as characters", async () => {
    expect(
      await page(
        "<p>caf&eacute; AT&amp;T R&D &lt;b&gt; &#8212; &#x1F999; a&nbsp;b &copy 2020 &#150; &nope;",
      ),
    ).toBe("café AT&T R&D <b> — 🦙 a b © 2020 – &nope;");
  });

  test("cannot make a heading or a fence of what is none", async () => {
    expect(await page("<p># one<br>## two<p>``` three<p>C<b></b># four")).toBe(
      "\\# one\n\\## two\n\n\\``` three\n\nC# four",
    );
  });

  test("may leave out all the end tags that HTML lets it leave out", async () => {
    expect(
      await page(
        "<h2>Food<p><code>Hay<p>Grass<ul><li>one<li>two</ul><dl><dt>hay<dd>dry<dt>grass<dd>wet</dl>",
      ),
    ).toBe("## Food\n\n`Hay`\n\nGrass\n\n- one\n- two\n\nhay\n: dry\n\ngrass\n: wet");
  });
});

describe("a list", () => {
  test("keeps its nesting, its numbers and its paragraphs", async () => {
    const html = `<ul>
      <li>one<ol start="3"><li>three</li><li>four<ul><li>deep</li></ul></li></ol></li>
      <li><p>two</p><p>and more</p></li>
      <ul><li>in no item</li></ul>
      <li></li>
    </ul>`;
    expect(await page(html)).toBe(
      "- one\n  3. three\n  4. four\n     - deep\n- two\n\n  and more\n  - in no item",
    );
  });

  test("keeps code in its items as code", async () => {
    expect(await page("<ol><li>run<pre>a\n  b</pre><li><pre># c</pre></ol>")).toBe(
      "1. run\n\n   ```\n   a\n     b\n   ```\n2.\n   ```\n   # c\n   ```",
    );
  });

  test("with headings in it is not a list but a page of cards", async () => {
    expect(await page("<ul><li><h2>A</h2><p>a</p></li><li><h2>B</h2><p>b</p></li></ul>")).toBe(
      "## A\n\na\n\n## B\n\nb",
    );
  });

  test("of long definitions is paragraphs", async () => {
    expect(await page("<dl><div><dt>hay<dd><p>dry<p>yellow</div></dl>")).toBe(
      "hay\n\ndry\n\nyellow",
    );
  });
});

describe("a table", () => {
  test("is rows of cells between pipes", async () => {
    const html = `<table><caption>Herd</caption>
      <thead><tr><th>Name</th><th>Says</th></tr></thead>
      <tbody><tr><td>Tina</td><td><p>hm | hum</p><ul><li>and <b>spit</b></li></ul></td></tr>
      <tr><td><code>a|b</code></td></tr><tr><td></td><td></td></tr></tbody></table>`;
    expect(await page(html)).toBe(
      "Herd\n\n| Name | Says |\n| --- | --- |\n| Tina | hm \\| hum and spit |\n| `a\\|b` |  |",
    );
  });

  test("without end tags keeps its rows", async () => {
    expect(await page("<table><tr><th>a<th>b<tr><td>1<td>2<tbody><tr><td>3<td>4</table>")).toBe(
      "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
    );
  });

  test("keeps its columns where cells span several", async () => {
    const html =
      "<table><tr><th>a<th>b<th>c<tr><td rowspan=3>x<td>1<td>2<tr><td colspan=2>wide<tr><td>3<tr><td>y</table>";
    expect(await page(html)).toBe(
      "| a | b | c |\n| --- | --- | --- |\n| x | 1 | 2 |\n| x | wide |  |\n| x | 3 |  |\n| y |  |  |",
    );
  });

  test("that lays out a page is the page", async () => {
    const tables = [
      "<table><tr><td><h1>Llamas</h1><td>Side</table>",
      "<table><tr><td><table><tr><td>a<td>b</table><td>Side</table>",
      "<table><tr><td><pre>a</pre><td>Side</table>",
      "<table><tr><td>One<tr><td>column</table>",
    ];
    expect(await Promise.all(tables.map(page))).toEqual([
      "# Llamas\n\nSide",
      "| a | b |\n| --- | --- |\n\nSide",
      "```\na\n```\n\nSide",
      "One\n\ncolumn",
    ]);
  });
});

describe("code", () => {
  test("keeps its white space and its language in a fence", async () => {
    const html =
      '<pre><code class="hljs language-ts">\nif (a &lt; b) {<br>  <span>c</span>;\n}\n</code></pre>' +
      "<pre><div>one</div><div>two</div></pre><pre> </pre>";
    expect(await page(html)).toBe("```ts\nif (a < b) {\n  c;\n}\n```\n\n```\none\ntwo\n```");
  });

  test("stands between more backticks than it has", async () => {
    expect(await page("<p><code>a</code> <code>b`c</code><pre>```\nd\n```</pre>")).toBe(
      "`a` `` b`c ``\n\n````\n```\nd\n```\n````",
    );
  });
});

describe("an encoding", () => {
  test.each([
    ["in a meta element", '<meta charset="ISO-8859-1"><p>caf\xe9'],
    [
      "in the old way",
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>caf\xe9',
    ],
    ["in the XML declaration", '<?xml version="1.0" encoding="latin1"?><p>caf\xe9</p>'],
    ["wrongly, since it could not be read then", "<meta charset=utf-16><p>caf\xc3\xa9"],
    ["against its byte order mark", "\xef\xbb\xbf<meta charset=latin1><p>caf\xc3\xa9"],
  ])("may be named %s", async (_, html) => {
    expect(await readDocument("a.html", latin(html))).toEqual(["café"]);
  });

  test("is that of the byte order mark before the one that is named", async () => {
    const bytes = latin(
      "\xff\xfe<\0m\0e\0t\0a\0 \0c\0h\0a\0r\0s\0e\0t\0=\0b\0i\0g\x005\0>\0p\0\xe9\0",
    );
    expect(await readDocument("a.html", bytes)).toEqual(["pé"]);
  });

  test.each([
    [
      "is not that of the text",
      "<meta charset=utf-8><p>caf\xe9",
      "is not text in 'utf-8', the encoding that it names",
    ],
    [
      "is not known",
      "<meta charset=klingon><p>cafe",
      "is not text in 'klingon', the encoding that it names",
    ],
    ["is not named and not UTF-8", "<p>caf\xe9", "is not UTF-8 text"],
  ])("is refused if it %s", async (_, html, why) => {
    expect(await rejectionOf(readDocument("a.htm", latin(html)))).toMatchObject({
      kind: "invalid_request",
      message: `${why}; save it as UTF-8.`,
    });
  });

  test("of XHTML ends its elements in themselves", async () => {
    const html =
      '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>' +
      '<script src="a.js"/></head><body><p>one<br/>two</p></body></html>';
    expect(await read(html, "a.xhtml")).toEqual(["one\ntwo"]);
  });
});

describe("a hostile page", () => {
  test.each([
    ["blocks", "<div>"],
    ["hidden elements", "<nav></nav><div>"],
    ["emphasis", "<b>"],
    ["tables", "<table><tr><td>"],
    ["forms", "<form>"],
  ])("of %s without end is read all the same", async (_, tag) => {
    expect(await page(`${tag.repeat(20_000)}deep<script>no</script>`)).toBe("deep");
  });

  test.each([
    ["<table>", "</td>"],
    ["<b>", "</i>"],
    ["<p>text<div>", "</nothing>"],
  ])("of %s without end and %s without a beginning is refused", async (open, end) => {
    const refusal = await rejectionOf(page(open.repeat(40_000) + end.repeat(40_000)));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("more end tags without a beginning"),
    });
  });

  test("of thousands of both, as pages without care have, is read", async () => {
    const items = Array.from({ length: 3000 }, (_, at) => `<br><font>item ${at}</b></center>`);
    expect(await page(`<body>${items.join("")}`)).toContain("item 2999");
  });

  test("of lists without end is read all the same", async () => {
    expect(await page(`${"<ul><li>".repeat(20_000)}deep`)).toMatch(/^(- )+deep$/);
  });

  test("with cells of any size makes a table of some size", async () => {
    const [text] = await read(
      "<table><tr><td rowspan=4000000000 colspan=4000000000>a<td>b</table>",
    );
    expect(text?.length).toBeLessThan(1000);
  });

  test("that is broken off gives what is there", async () => {
    expect(await page("<p>one</b></div><p>two</i><ul><li>three<script>no")).toBe(
      "one\n\ntwo\n\n- three",
    );
  });
});

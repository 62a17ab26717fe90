import { expect, test } from "bun:test";
import { decodeEntities } from "../../../../src/web/markdown/entities.ts";

test.each([
  ["a &amp; b &lt;c&gt; &quot;d&quot; &#39;e&#x27;", "a & b <c> \"d\" 'e'"],
  ["&amp;lt;", "&lt;"],
  ["&#128512;", "😀"],
  [
    "&unknown; &amp &#xFFFFFF; &#9999999; &ne; AT&T",
    "&unknown; &amp &#xFFFFFF; &#9999999; &ne; AT&T",
  ],
])("%j reads %j", (text, read) => {
  expect(decodeEntities(text)).toBe(read);
});

/** Markdown as elements, from marked's tokens. HTML in an answer is shown as text. */
import { lexer, type Token, type Tokens } from "marked";
import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { Button, CopyButton, scrolls } from "../components/controls.tsx";
import { decodeEntities, piecesOf, safeLink } from "./inline-text.ts";

/** Deepest nesting that is rendered; deeper content is shown as text. */
const deepest = 24;

export function Markdown({ text }: { text: string }) {
  // Memoized, so that Preact does not compare the elements of unchanged text.
  const content = useMemo(() => <div class="markdown">{render(text)}</div>, [text]);
  return content;
}

function render(text: string): ComponentChildren {
  try {
    return all(lexer(text), 0);
  } catch {
    // Nested too deep for the lexer.
    return <p class="as-written">{text}</p>;
  }
}

const all = (tokens: readonly Token[] | undefined, depth: number): ComponentChildren =>
  tokens?.map((token) => (depth > deepest ? token.raw : one(token, depth + 1)));

function one(token: Token, depth: number): ComponentChildren {
  const Tag = tags.get(token.type);
  if (Tag !== undefined && "tokens" in token) return <Tag>{all(token.tokens, depth)}</Tag>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "code":
      return <CodeBlock text={token.text} language={token.lang ?? ""} />;
    case "codespan":
      return <code>{token.text}</code>;
    case "heading": {
      // Starts at h3, below the page's own headings.
      const Heading = headings[token.depth - 1] ?? "h5";
      return <Heading>{all(token.tokens, depth)}</Heading>;
    }
    case "list":
      return list(token.ordered, token.start, all(token.items, depth));
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "table":
      return table(token.header, token.rows, depth);
    case "link":
      return link(token.href, all(token.tokens, depth));
    case "image":
      // Not loaded: the image's server would learn who reads the answer.
      return link(token.href, `Image: ${token.text || token.href}`);
    case "text":
      return token.tokens === undefined ? (
        <MarkedText text={decodeEntities(token.text)} />
      ) : (
        all(token.tokens, depth)
      );
    case "escape":
      return decodeEntities(token.text);
    default:
      return token.raw;
  }
}

const headings = ["h3", "h4"] as const;

/** For tokens that only wrap others. */
const tags = new Map<string, "p" | "blockquote" | "strong" | "em" | "del" | "li">([
  ["paragraph", "p"],
  ["blockquote", "blockquote"],
  ["strong", "strong"],
  ["em", "em"],
  ["del", "del"],
  ["list_item", "li"],
]);

function list(ordered: boolean, start: unknown, content: ComponentChildren): JSX.Element {
  return ordered ? <ol start={Number(start) || 1}>{content}</ol> : <ul>{content}</ul>;
}

type Cells = readonly Tokens.TableCell[];

function table(header: Cells, rows: readonly Cells[], depth: number): JSX.Element {
  const cell = (Tag: "th" | "td") => (content: Tokens.TableCell) => (
    <Tag class={content.align ?? undefined}>{all(content.tokens, depth)}</Tag>
  );
  return (
    <section class="table" aria-label="Table" {...scrolls}>
      <table>
        <thead>
          <tr>{header.map(cell("th"))}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>{row.map(cell("td"))}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function link(href: string, content: ComponentChildren): ComponentChildren {
  const address = safeLink(href);
  if (address === undefined) return content;
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer nofollow">
      {content}
    </a>
  );
}

function CodeBlock({ text, language }: { text: string; language: string }) {
  const name = language.split(/\s/)[0] ?? "";
  return (
    <figure class="code">
      <figcaption>
        <span>{name || "text"}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      <pre {...scrolls}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}

/** The passages that an answer's markers open. */
export interface MarkerTarget {
  count: number;
  open: (marker: number) => void;
}

/** Undefined if there is nothing to open: markers are then plain text. */
export const MarkerContext = createContext<MarkerTarget | undefined>(undefined);

function MarkedText({ text }: { text: string }) {
  const target = useContext(MarkerContext);
  if (target === undefined) return <>{text}</>;
  return (
    <>
      {piecesOf(text, target.count).map((piece) =>
        typeof piece === "string" ? (
          piece
        ) : (
          <Button
            label={piece.marker}
            class="marker-link"
            aria-label={`Open passage ${piece.marker}`}
            onClick={() => target.open(piece.marker)}
          />
        ),
      )}
    </>
  );
}

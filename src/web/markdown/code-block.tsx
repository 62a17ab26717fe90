/** A block of code with a button that copies it. */
import { CopyButton } from "../components/copy-button.tsx";
import { scrolls } from "../components/scrolls.ts";

export function CodeBlock({ text, language }: { text: string; language: string }) {
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

/** The lines of docs/clients.md, as a reader would copy them, for the node at hand. */
import { join } from "node:path";

export const pageFile = join(import.meta.dir, "..", "..", "docs", "clients.md");

/** What of the page's lines is the reader's own. */
export interface Own {
  origin: string;
  model: string;
  key: string;
}

/** The text of a client's snippet in a language. */
export function snippet(page: string, client: string, language: string, own: Own): string {
  const [, section] = page.split(`\n## ${client}\n`);
  const [, text] =
    new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "s").exec(section?.split("\n## ")[0] ?? "") ?? [];
  if (text === undefined) throw new Error(`docs/clients.md has no ${language} for ${client}`);
  return text
    .replaceAll("http://127.0.0.1:8080", own.origin)
    .replaceAll("my-model", own.model)
    .replaceAll("your-key", own.key);
}

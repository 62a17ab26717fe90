/** Bundles the files of the web page from src/web; the executable embeds them prebuilt. */
import { basename, join } from "node:path";

export interface PageFile {
  /** `index.html`, or a name that changes with the content. */
  name: string;
  type: string;
  text: string;
}

export const pageFolder = "/page";

export async function pageFiles(): Promise<PageFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "..", "web", "index.html")],
    target: "browser",
    minify: true,
    publicPath: `${pageFolder}/`,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return Promise.all(
    outputs.map(async (file) => ({
      name: basename(file.path),
      type: file.type.replace(";charset", "; charset"),
      text: await file.text(),
    })),
  );
}

/** A stored file as an answer. */
import type { Download } from "../operation.ts";

/**
 * Always bytes to be saved, whatever the file is: a page that somebody uploaded would else run in the
 * browser with the rights of the node's own page.
 */
export function downloadResponse({ content, filename }: Download): Response {
  return new Response(content, {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename*=UTF-8''${encoded(filename)}`,
      "content-security-policy": "sandbox",
      "cache-control": "private, no-store",
    },
  });
}

/** What `encodeURIComponent` leaves and a header may not have. */
const encoded = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** The links that an answer may make: to the web and to mail, nothing that runs or reads. */

const safe = new Set(["http:", "https:", "mailto:"]);

/** The address as it may be followed; undefined where it may not. */
export function safeLink(href: string): string | undefined {
  try {
    const address = new URL(href);
    return safe.has(address.protocol) ? address.href : undefined;
  } catch {
    return undefined;
  }
}

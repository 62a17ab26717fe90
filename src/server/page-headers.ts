/** The headers of every page that the node serves to a browser. */

type Policy = Readonly<Record<string, string>>;

/** Everything that a page loads comes from the node itself; nothing may frame it. */
const strict: Policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

/** `policy`: directives of the content security policy that the page has beside the strict ones, or instead of them. */
export function pageHeaders(policy: Policy = {}): Record<string, string> {
  const directives = Object.entries({ ...strict, ...policy });
  return {
    "content-security-policy": directives.map((words) => words.join(" ")).join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  };
}

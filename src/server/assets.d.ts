/** Files imported for their path: `import path from "…" with { type: "file" }`. */
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

/** Files imported for their text: `import text from "…" with { type: "text" }`. */
declare module "*.c" {
  const text: string;
  export default text;
}

/** Files imported for their path: `import path from "…" with { type: "file" }`. */
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

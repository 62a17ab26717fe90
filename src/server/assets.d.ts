/** Files imported for their path: `import path from "…" with { type: "file" }`. */

declare module "swagger-ui-dist/swagger-ui-bundle.js" {
  const path: string;
  export default path;
}

declare module "swagger-ui-dist/swagger-ui.css" {
  const path: string;
  export default path;
}

declare module "swagger-ui-dist/favicon-32x32.png" {
  const path: string;
  export default path;
}

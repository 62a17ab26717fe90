/** What a request asks for, in a word: few enough that each can have numbers of its own. */

const operations: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "chat",
  "/v1/embeddings": "embeddings",
  "/v1/retrieve": "retrieve",
  "/v1/models": "models",
  "/v1/info": "info",
  "/health": "health",
  "/ready": "ready",
  "/metrics": "metrics",
  "/": "page",
  "/page": "page",
  "/docs": "docs",
  "/openapi.json": "docs",
};

export function operationOf(pathname: string): string {
  const [known] = Object.entries(operations).filter(
    ([path]) => pathname === path || (path !== "/" && pathname.startsWith(`${path}/`)),
  );
  return known?.[1] ?? "other";
}

/** What server modules of the wire types use of Bun; the page itself does not have it. */
declare const Bun: {
  CryptoHasher: new (algorithm: "sha256") => BunHasher;
  serve(options: {
    fetch(received: Request, server: BunServer): Promise<Response>;
    error(error: Error): Response;
    [option: string]: unknown;
  }): unknown;
};

interface BunHasher {
  update(text: string): BunHasher;
  copy(): BunHasher;
  digest(encoding: "hex" | "base64"): string;
}

interface BunServer {
  url: URL;
  timeout(request: Request, seconds: number): void;
  requestIP(request: Request): { address: string } | null;
}

/** The part of Bun that the wire types refer to; the page itself does not have it. */
declare const Bun: { CryptoHasher: new (algorithm: "sha256") => BunHasher };

interface BunHasher {
  update(text: string): BunHasher;
  copy(): BunHasher;
  digest(encoding: "hex" | "base64"): string;
}

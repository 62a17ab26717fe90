/** The part of Bun that the wire types refer to; the page itself does not have it. */
declare const Bun: {
  CryptoHasher: new (
    algorithm: "sha256",
  ) => { update(text: string): { digest(encoding: "hex"): string } };
};

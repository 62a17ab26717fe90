/** What the wire's types reach of Bun, which the page itself does not have. */
declare const Bun: {
  CryptoHasher: new (
    algorithm: "sha256",
  ) => { update(text: string): { digest(encoding: "hex"): string } };
};

/** The wire's types reach functions of the domain that hash on the node. The page never calls them. */
declare namespace Bun {
  class CryptoHasher {
    constructor(algorithm: "sha256");
    update(text: string): this;
    digest(encoding: "hex"): string;
  }
}

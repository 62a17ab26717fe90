import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import { qdrantAddress } from "../../../../src/store/qdrant/address.ts";

describe("the address of a Qdrant server", () => {
  test.each([
    ["http://localhost", "http://localhost:6333"],
    ["http://localhost/", "http://localhost:6333"],
    ["http://localhost:6333", "http://localhost:6333"],
    ["http://localhost:80", "http://localhost:80"],
    ["http://localhost:80/q", "http://localhost:80/q"],
    ["http://10.0.0.1:8080", "http://10.0.0.1:8080"],
    ["http://[::80]", "http://[::80]:6333"],
    ["https://db.example", "https://db.example"],
    ["https://db.example:443", "https://db.example"],
    ["https://db.example:6333", "https://db.example:6333"],
    ["https://db.example/a/b/", "https://db.example/a/b"],
    ["HTTPS://DB.example", "https://db.example"],
  ])("%s is asked as %s", (url, address) => {
    expect(qdrantAddress(url)).toBe(address);
  });

  test.each([
    ["", "http://host:6333"],
    ["localhost:6333", "http://host:6333"],
    ["ftp://host", "http://host:6333"],
    ["http://user:secret@host", "credential"],
    ["https://secret@host", "credential"],
    ["http://host?api-key=secret", "no query"],
    ["http://host#secret", "no fragment"],
  ])("%s is refused", (url, hint) => {
    expect(() => qdrantAddress(url)).toThrow(hint);
    expect(() => qdrantAddress(url)).toThrow(NodeError);
    expect(() => qdrantAddress(url)).not.toThrow("secret");
  });
});

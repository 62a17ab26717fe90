import { expect, test } from "bun:test";
import { ImageFiles } from "../../../../src/core/chat/images.ts";
import { imageBytes } from "../../../support/images.ts";

test("images of one caller that came together hold up nobody else's", async () => {
  const bytes = imageBytes();
  const file = {
    ...{ id: "file-1", filename: "a.png", bytes: bytes.length, sha256: "" },
    ...{ type: "image/png", purpose: "vision", createdAt: new Date() },
  };
  // All of them at the same moment, as from memory.
  const blob = Object.assign(new Blob([bytes]), { bytes: async () => new Uint8Array(bytes) });
  const content = async () => ({ file, bytes: blob });
  const images = new ImageFiles({ content }, { maxImageBytes: 1 << 10, maxBodyBytes: 1 << 12 });
  const { signal } = new AbortController();
  const read: string[] = [];
  await Promise.all(
    ["ada", "ada", "ada", "bob"].map(async (id) => {
      const message = { role: "user", content: "", images: [{ at: 0, file: file.id }] } as const;
      const reader = { searcher: { id, called: id }, hold: () => {} };
      await images.read([message], reader, signal);
      read.push(id);
    }),
  );
  expect(read).toEqual(["ada", "bob", "ada", "ada"]);
});

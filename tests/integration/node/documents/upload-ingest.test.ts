import { expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import { defaultLimits } from "../../../../src/ingest/readers/limits.ts";
import { UploadIngest } from "../../../../src/node/documents/node-documents.ts";
import { engineEnvironment } from "../../../../src/subprocess/program.ts";
import { programUnderTest } from "../../../support/paddock-process.ts";
import { childrenOf } from "../../../support/process-tree.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";
import { unusedRepository } from "../../../support/unused-repository.ts";

/** Refused once it is cut: what is read, and by which process, is all that counts here. */
const planned = new NodeError("quota_exceeded", "enough");

async function readFor(ingest: UploadIngest, owner: string): Promise<number[]> {
  const refusal = await rejectionOf(
    ingest.ingest({
      file: {
        ...{ id: "file-1", filename: "a.md", bytes: 5, sha256: "", type: "", purpose: "", owner },
        createdAt: new Date(),
      },
      content: new Blob(["llamas hum"]),
      document: "file-1/a.md",
      repository: { ...unusedRepository, async *passages() {} },
      documentPrefix: "",
      chunking: { maxTokens: 8, overlapTokens: 0 },
      signal: new AbortController().signal,
      onPlanned: async () => {
        throw planned;
      },
      hasWaited: false,
      onEmbedded: () => {},
    }),
  );
  expect(refusal).toBe(planned);
  return await childrenOf(process.pid);
}

test("a process that read one owner's file reads no other owner's", async () => {
  await using ingest = new UploadIngest({
    program: { command: programUnderTest, env: engineEnvironment(process.env) },
    ingest: { ...defaultLimits, max_file_bytes: 1e6, read_timeout: 120, read_memory: 2048 },
  });
  ingest.engine = new ScriptedEmbeddingEngine();
  const ada = await readFor(ingest, "ada");
  expect(ada).toHaveLength(1);
  expect(await readFor(ingest, "ada")).toEqual(ada);
  const bob = await readFor(ingest, "bob");
  expect(bob).toHaveLength(1);
  expect(bob).not.toEqual(ada);
});

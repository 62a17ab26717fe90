import { expect, test } from "bun:test";
import { redactPaths } from "../../../src/server/redact-paths.ts";

const hidden = "(a path on the node)";

test.each([
  ["Its file is /var/lib/paddock/a.sqlite; restore it.", `Its file is ${hidden}; restore it.`],
  ["open '/home/ada/my.gguf' failed", `open '${hidden}' failed`],
  ["The model file './gone.gguf' does not exist.", `The model file '${hidden}' does not exist.`],
  ["read ../models/a.gguf, then stop...", `read ${hidden}, then stop...`],
  ["(/qdrant/storage/x/0.bin)", `(${hidden})`],
  ["at C:\\Users\\ada\\model.gguf.", `at ${hidden}`],
  ["Qdrant at https://user:pa55@host:6333/x/y is away", "Qdrant at https://host:6333/x/y is away"],
  ["Qdrant at http://127.0.0.1:6333/a/b is away", "Qdrant at http://127.0.0.1:6333/a/b is away"],
  ["The model 'owner/name' takes text/plain and/or 1/2.", undefined],
])("a message without what is nobody's business: %s", (message, shown) => {
  expect(redactPaths(message)).toBe(shown ?? message);
});

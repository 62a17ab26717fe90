/** Makes the words of a collection anew that an older version of the node filled. */
import type { Schemas } from "@qdrant/js-client-rest";
import { wordForm } from "../words.ts";
import { wordsVector } from "./collection-shape.ts";
import type { QdrantConnection } from "./connection.ts";
import { textOr } from "./payload.ts";
import { wordWeights } from "./sparse-words.ts";

const page = 256;

/** The collection says that its words are today's once all are: who is interrupted begins again. */
export async function rebuildWords(connection: QdrantConnection, name: string): Promise<void> {
  let offset: Schemas["ScrollRequest"]["offset"] = null;
  do {
    const from = offset;
    const found: Schemas["ScrollResult"] = await connection.read((client) =>
      client.scroll(name, { with_payload: ["source"], limit: page, offset: from }),
    );
    const points = found.points.map(({ id, payload }) => ({
      id,
      vector: { [wordsVector]: wordWeights(textOr(payload?.source)) },
    }));
    if (points.length > 0) {
      await connection.change((client) => client.updateVectors(name, { points, wait: true }));
    }
    offset = found.next_page_offset ?? null;
  } while (offset !== null);
  await connection.change((client) =>
    client.updateCollection(name, { metadata: { [wordsVector]: wordForm } }),
  );
}

/** Writes the tables of docs/reference/*-fields.md from the schemas of the operations. */
import { join } from "node:path";
import { absentItems, absentTools } from "../src/server/operations/responses/absent.ts";
import { operations } from "../src/server/operations.ts";
import { type DescribedField, describedFields } from "./docs/described-fields.ts";
import { toMarkdownTable } from "./docs/markdown-table.ts";
import { withParts } from "./docs/marked-parts.ts";

const folder = join(import.meta.dir, "..", "docs", "reference");

/** The parts of each page, by their markers. */
const pages: Readonly<Record<string, () => Record<string, string>>> = {
  "chat-fields.md": () => ofOperations("createChatCompletion"),
  "completion-fields.md": () => ofOperations("createCompletion"),
  "tokenize-fields.md": () => ofOperations("tokenize", "detokenize"),
  "rerank-fields.md": () => ofOperations("rerank"),
  "messages-fields.md": () => ofOperations("createMessage"),
  "ollama-fields.md": () =>
    ofOperations("ollamaChat", "ollamaGenerate", "ollamaEmbed", "ollamaEmbeddings", "ollamaShow"),
  "responses-fields.md": () => {
    const fields = fieldsOf("createResponse");
    const ofInput = fields.filter(({ path }) => path.startsWith("input["));
    const ofTools = fields.filter(({ path }) => path.startsWith("tools["));
    return {
      createResponse: tableOf(fields.filter((field) => ![...ofInput, ...ofTools].includes(field))),
      items: tableOf(ofInput),
      "absent items": absentTable({ ...absentTools, ...absentItems }),
      tools: tableOf(ofTools),
      "absent tools": absentTable(absentTools),
    };
  },
  "document-fields.md": () =>
    ofOperations(
      "uploadFile",
      "listFiles",
      "createVectorStore",
      "updateVectorStore",
      "listVectorStores",
      "searchVectorStore",
      "addVectorStoreFile",
      "listVectorStoreFiles",
      "updateVectorStoreFile",
      "createFileBatch",
      "listFileBatchFiles",
    ),
  "stored-response-fields.md": () => ofOperations("getResponse", "listResponseInputItems"),
};

export const fieldFiles = Object.keys(pages);

export const fieldFile = (name: string): string => join(folder, name);

/** The page with fresh tables. */
export const fieldPage = (name: string, page: string): string =>
  withParts(page, pages[name]?.() ?? {});

/** Those that an operation reads in its body, its form or its address. */
export function fieldsOf(operationId: string): DescribedField[] {
  const found = operations.find(({ facts }) => facts.operationId === operationId)?.facts;
  const schema = found?.body?.schema ?? found?.form?.schema ?? found?.query;
  if (schema === undefined) throw new Error(`No operation ${operationId} has fields`);
  return describedFields(schema);
}

const ofOperations = (...ids: readonly string[]): Record<string, string> =>
  Object.fromEntries(ids.map((id) => [id, tableOf(fieldsOf(id))]));

const tableOf = (fields: readonly DescribedField[]): string =>
  toMarkdownTable(
    ["Field", "Value", "Class", "What the node does"],
    fields
      .filter(({ isTag }) => !isTag)
      .map(({ path, use, value, text }) => [`\`${path}\``, value, use, text]),
  );

const absentTable = (types: Readonly<Record<string, string>>): string =>
  toMarkdownTable(
    ["Type", "Why"],
    Object.entries(types).map(([type, why]) => [`\`${type}\`…`, `${why}.`]),
  );

if (import.meta.main) {
  for (const name of fieldFiles) {
    const file = fieldFile(name);
    await Bun.write(file, fieldPage(name, await Bun.file(file).text()));
    console.log(`Wrote ${file}`);
  }
}

/** Files between the wire and the domain. */
import { Value } from "@sinclair/typebox/value";
import type { FileRecord } from "../../../core/documents/records.ts";
import { given } from "../../../core/given.ts";
import { quoted } from "../../../core/quoted.ts";
import { fieldExaminer } from "../../middleware/ignored-fields.ts";
import { invalid } from "../../middleware/read-request.ts";
import { refuse } from "../../wire/fields.ts";
import { type FileObject, UploadFields } from "./schema.ts";

export function toFileObject(file: FileRecord): FileObject {
  const { id, bytes, filename, purpose, sha256, type, createdAt, expiresAt } = file;
  return {
    id,
    object: "file",
    bytes,
    created_at: seconds(createdAt),
    ...given({ expires_at: expiresAt && seconds(expiresAt) }),
    filename,
    purpose: purpose === "user_data" ? "user_data" : "assistants",
    status: "processed",
    sha256,
    content_type: type,
  };
}

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);

const secondsField = "expires_after[seconds]";
const anchorField = "expires_after[anchor]";

/** OpenAI's purposes that nothing on this node serves. */
const unserved = new Map([
  ["batch", "has no Batch API"],
  ["fine-tune", "does not train models"],
  ["vision", "has no models that see"],
  ["evals", "has no evals"],
]);

interface UploadRequest {
  purpose: string;
  expiresAfterSeconds?: number;
  ignored: string[];
}

const examineFields = fieldExaminer(UploadFields);

/** The fields of an upload; they may come behind the file, which is refused with them. */
export function toUploadRequest(fields: ReadonlyMap<string, string>): UploadRequest {
  const found: Record<string, unknown> = Object.fromEntries(fields);
  const { purpose } = found;
  const why = typeof purpose === "string" ? unserved.get(purpose) : undefined;
  if (why !== undefined) {
    throw refuse(
      "purpose",
      `is ${quoted(String(purpose))}, and this node ${why}; send 'assistants' or 'user_data'`,
    );
  }
  const given_ = found[secondsField];
  if (typeof given_ === "string" && /^\d{1,12}$/.test(given_)) found[secondsField] = Number(given_);
  if (!Value.Check(UploadFields, found)) throw invalid(UploadFields, found);
  const expiresAfterSeconds = found[secondsField];
  if ((found[anchorField] === undefined) !== (expiresAfterSeconds === undefined)) {
    throw refuse("expires_after", "needs both 'anchor' ('created_at') and 'seconds'");
  }
  return {
    purpose: found.purpose,
    ...given({ expiresAfterSeconds }),
    ignored: examineFields(found),
  };
}

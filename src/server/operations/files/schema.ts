/** Schemas of files. */
import { type Static, Type as T } from "@sinclair/typebox";
import { count, oneOf, optional } from "../../wire/fields.ts";
import { pageQuery, pageSchema } from "../../wire/page-schema.ts";

/** The purposes of OpenAI's API that this node supports. */
const Purpose = oneOf(["assistants", "user_data"], {
  description: "What it is for: to be added to vector stores. Both mean the same here.",
});

export const FileObject = T.Object({
  id: T.String(),
  object: T.Literal("file"),
  bytes: count(),
  created_at: T.Integer({ description: "Unix time in seconds." }),
  expires_at: optional(T.Integer(), "When it is deleted; absent: never."),
  filename: T.String(),
  purpose: Purpose,
  status: T.Literal("processed"),
  sha256: T.String({ description: "Digest of its content." }),
  content_type: T.String({ description: "What it is, by its content." }),
});

export type FileObject = Static<typeof FileObject>;

export const FileUpload = T.Object({
  file: T.String({
    format: "binary",
    description: "The file, with its name: that decides between formats that look alike.",
  }),
  purpose: Purpose,
  "expires_after[anchor]": T.Optional(T.Literal("created_at")),
  "expires_after[seconds]": optional(
    T.Integer({ minimum: 3600, maximum: 2_592_000 }),
    "How long after its upload it is deleted; absent: never.",
  ),
});

/** The form's fields without the file. */
export const UploadFields = T.Omit(FileUpload, ["file"]);

export type UploadFields = Static<typeof UploadFields>;

export const fileLimits = { most: 10_000, usual: 1000 };

export const FileQuery = pageQuery(fileLimits, {
  purpose: optional(T.String(), "Only files with this purpose."),
});

export const FileList = pageSchema(FileObject);

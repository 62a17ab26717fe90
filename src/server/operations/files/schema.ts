/** Schemas of files; apart from the operation, since the page uses their types. */
import { type Static, Type as T } from "@sinclair/typebox";
import { count, integer, oneOf, optional, UnixTime } from "../../wire/fields.ts";
import { pageQuery } from "../../wire/page-schema.ts";

const purposes = ["assistants", "user_data", "vision"] as const;

export const purposeOf = (text: string) => purposes.find((purpose) => purpose === text);

const Purpose = oneOf(purposes, {
  description:
    "What it is for. All mean the same here: it can be added to vector stores, and an image can be used in messages.",
});

export const FileObject = T.Object({
  id: T.String(),
  object: T.Literal("file"),
  bytes: count(),
  created_at: UnixTime,
  expires_at: optional(T.Integer(), "When it is deleted; absent: never."),
  filename: T.String(),
  purpose: Purpose,
  status: T.Literal("processed"),
  sha256: T.String({ description: "Digest of its content." }),
  content_type: T.String({ description: "The type of its content." }),
});

export type FileObject = Static<typeof FileObject>;

export const FileUpload = T.Object({
  file: T.String({
    format: "binary",
    description: "The file. Its name decides between formats that look alike.",
  }),
  purpose: Purpose,
  "expires_after[anchor]": T.Optional(T.Literal("created_at")),
  "expires_after[seconds]": optional(
    integer(3600, 2_592_000),
    "Deletes it this long after its upload; absent: never.",
  ),
});

export const UploadFields = T.Omit(FileUpload, ["file"]);

export const usualFiles = 1000;

export const FileQuery = pageQuery(
  { purpose: optional(T.String(), "Only files with this purpose.") },
  10_000,
  usualFiles,
);

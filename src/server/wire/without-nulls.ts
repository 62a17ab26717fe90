/** Fields of a body: one that is null counts as absent, while 0, false and "" count. */
import { type Given, given } from "../../core/given.ts";

type NonNull<Fields> = {
  [Key in keyof Fields]: Exclude<Fields[Key], null> | NullAsUndefined<Fields[Key]>;
};

type NullAsUndefined<Value> = null extends Value ? undefined : never;

export function withoutNulls<Fields extends object>(fields: Fields): Given<NonNull<Fields>>;
export function withoutNulls(fields: object): object {
  const entries = Object.entries(fields).map(([key, value]) => [key, value ?? undefined]);
  return given(Object.fromEntries(entries));
}

/** Drops undefined fields, for types in which absent and undefined fields differ. */

type OptionalKeys<Fields> = {
  [Key in keyof Fields]: undefined extends Fields[Key] ? Key : never;
}[keyof Fields];

/** Makes fields that may be undefined optional. */
export type Given<Fields> = Omit<Fields, OptionalKeys<Fields>> & {
  [Key in OptionalKeys<Fields>]?: Exclude<Fields[Key], undefined>;
};

/** `{ ...given({ seed }) }` has a seed only if it is defined. `0`, `""` and `null` stay. */
export function given<Fields extends object>(fields: Fields): Given<Fields>;
export function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Leaves out what is undefined, where a field that is absent and one that is undefined differ. */

type OptionalKeys<Fields> = {
  [Key in keyof Fields]: undefined extends Fields[Key] ? Key : never;
}[keyof Fields];

/** The fields that may be undefined are optional instead. */
export type Given<Fields> = Omit<Fields, OptionalKeys<Fields>> & {
  [Key in OptionalKeys<Fields>]?: Exclude<Fields[Key], undefined>;
};

/** `{ ...given({ seed }) }` has a seed where there is one. Other empty values, `0`, `""` and `null`, stay. */
export function given<Fields extends object>(fields: Fields): Given<Fields>;
export function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

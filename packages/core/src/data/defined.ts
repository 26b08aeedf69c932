/** An object without its undefined members: `defined({ port: 80, host: undefined })` is `{ port: 80 }`. */
export function defined<T extends object>(value: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const known: { [Key in keyof T]?: Exclude<T[Key], undefined> } = {};
  for (const key in value)
    if (value[key] !== undefined) known[key] = value[key] as Exclude<T[typeof key], undefined>;
  return known;
}

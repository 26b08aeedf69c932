/** A name that the user has given to nothing: a program merges what has the same one, or hides the user's. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`${name}_wire`, taken) : name;
}

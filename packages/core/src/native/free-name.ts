/** A name that the user's configuration does not use: a program merges entries of the same name, or hides the user's. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`${name}_wire`, taken) : name;
}

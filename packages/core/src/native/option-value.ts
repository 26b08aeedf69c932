/** Value of an option in a program's arguments, as `--name value` or `--name=value`; the last one counts. */
export function optionValue(args: readonly string[], ...names: string[]): string | undefined {
  let found: string | undefined;
  for (const [index, arg] of args.entries()) {
    if (arg === "--") break;
    if (names.includes(arg)) found = args[index + 1];
    else {
      const name = names.find((each) => arg.startsWith(`${each}=`));
      if (name !== undefined) found = arg.slice(name.length + 1);
    }
  }
  return found;
}

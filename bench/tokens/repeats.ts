/** Texts of one repeated character: rules of tables, blank lines, padding. */
export function repeats(): string[] {
  const texts: string[] = [];
  for (const character of ["a", "e", "x", "A", "=", "-", "*", ".", " ", "\n", "─", "═", "…", "中", "😀"]) {
    for (const length of [200, 1_000, 5_000]) texts.push(character.repeat(length));
  }
  return texts;
}

/** Text around the base instructions in a final system prompt: the engine's addition and texts of hooks, in order. */
export function textAround(system: string, instructions: string | undefined): string {
  const at = instructions === undefined ? -1 : system.indexOf(instructions);
  const around = at === -1 ? [system] : [system.slice(0, at), system.slice(at + (instructions?.length ?? 0))];
  return around
    .map((part) => part.replaceAll(/^\n+|\n+$/g, ""))
    .filter((part) => part !== "")
    .join("\n\n");
}

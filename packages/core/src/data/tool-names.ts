/**
 * Tool names as models write them. Some families decorate the name of the tool that they mean: with the namespace of their template
 * (`functions.probe`), the number of the call (`probe:0`), a token of their format (`probe<|channel|>json`), or marks around it.
 */

/** Namespaces of templates: of OpenAI's and Kimi's models, Gemini's, and of prompts that list tools. */
const NAMESPACE = /^(?:functions?|tools?|default_api|api|namespace|mcp)(?:\.|::?|\/)/i;
/** A special token of a template and all after it, the number of a call, or its parentheses. */
const ENDS = [/<\|.*$/s, /<[/｜].*$/s, /:\d+$/, /\(.*\)$/s];
const MARKS = /^[\s"'`*]+|[\s"'`*:,;]+$/g;
/** Rounds in which decorations are removed: one may be around another. */
const ROUNDS = 3;

function bare(name: string): string {
  let text = name;
  for (let round = 0; round < ROUNDS; round++) {
    text = text.replaceAll(MARKS, "").replace(NAMESPACE, "");
    for (const end of ENDS) text = text.replace(end, "");
  }
  return text;
}

/** The offered tool that a model means: the one of its name, else the only one whose name is left without decorations. */
export function meantTool(name: string, offered: readonly string[]): string | undefined {
  if (offered.includes(name)) return name;
  const plain = bare(name);
  if (plain === "") return undefined;
  if (offered.includes(plain)) return plain;
  const alike = offered.filter((other) => other.toLowerCase() === plain.toLowerCase());
  return alike.length === 1 ? alike[0] : undefined;
}

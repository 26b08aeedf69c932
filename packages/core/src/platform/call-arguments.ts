/** Limits of a tool call's arguments: anything deeper or larger breaks code that copies, writes or counts it. */
import type { AgentMessage } from "@pagurus/contract/message";

/** The only argument of a call whose arguments were not a JSON object: their raw text. */
export const INVALID_JSON = "__invalid_json";
/** The only argument of a call whose arguments were refused: the reason, as the end of a sentence. */
export const REFUSED_ARGUMENTS = "__refused_arguments";

/** Maximum nesting of a call's arguments. */
const DEEPEST_ARGUMENTS = 100;
/** Maximum characters of a call's arguments. */
const MOST_ARGUMENT_CHARACTERS = 4 * 1024 * 1024;

const ARGUMENTS_TOO_LARGE = `have more than ${MOST_ARGUMENT_CHARACTERS} characters`;
const TOO_DEEP = `nest deeper than ${DEEPEST_ARGUMENTS} levels`;

/** Why arguments are refused, or undefined. Walks them without recursion. */
export function argumentsProblem(value: unknown): string | undefined {
  if (typeof value === "string")
    return value.length > MOST_ARGUMENT_CHARACTERS ? ARGUMENTS_TOO_LARGE : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  // Two lists, and keys instead of entries: no object for each of what may be tens of thousands of values.
  const open: object[] = [value];
  const depths: number[] = [1];
  let characters = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const depth = depths.pop() ?? 1;
    if (depth > DEEPEST_ARGUMENTS) return TOO_DEEP;
    for (const key of Object.keys(next)) {
      const inner: unknown = (next as Record<string, unknown>)[key];
      characters += key.length + 1;
      if (typeof inner === "string") characters += inner.length;
      else if (typeof inner === "object" && inner !== null) {
        open.push(inner);
        depths.push(depth + 1);
      }
    }
    if (characters > MOST_ARGUMENT_CHARACTERS) return ARGUMENTS_TOO_LARGE;
  }
  return undefined;
}

/** The same arguments, or the reason for their refusal instead. */
export function boundedArguments(given: Record<string, unknown>): Record<string, unknown> {
  const problem = argumentsProblem(given);
  return problem === undefined ? given : { [REFUSED_ARGUMENTS]: problem };
}

/** The message with refused arguments replaced; the same message where all are accepted. */
export function withBoundedCalls(message: AgentMessage): AgentMessage {
  if (message.role !== "assistant") return message;
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    const bounded = boundedArguments(part.arguments);
    return bounded === part.arguments ? part : { ...part, arguments: bounded };
  });
  return content.some((part, index) => part !== message.content[index]) ? { ...message, content } : message;
}

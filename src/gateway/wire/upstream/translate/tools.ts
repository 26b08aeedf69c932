/** A harness's tools as functions, which is what every protocol has, and the way back from a call to the harness's own. */
import { createHash } from "node:crypto";
import type { JsonSchema, ToolSpec } from "../../../../contract/tool.ts";
import { toolName } from "../../../../responses/items.ts";
import { fieldsOf, textOf, type Fields } from "../../json/fields.ts";

/** How the harness knows a call: as a function's, with free text, as a shell's command, or as a search for tools. */
type ToolForm = "function" | "custom" | "local_shell" | "tool_search";

export interface OfferedTool {
  spec: ToolSpec;
  form: ToolForm;
  /** The harness's own name. */
  name: string;
  /** The name by which the dialect knows it in a message of ours: the namespace, where there is one, before it. */
  flat: string;
}

/** OpenAI refuses longer names. */
const LONGEST_NAME = 64;

/** A name that every provider takes; the same for the tool and for the calls of it that were made before. */
export function offeredName(name: string): string {
  const plain = toolName(name);
  if (plain.length <= LONGEST_NAME) return plain;
  const hash = createHash("sha256").update(plain).digest("hex").slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - 9)}_${hash}`;
}

/** A schema whose top level is an object, as the providers demand it. */
function schemaOf(value: unknown): JsonSchema {
  const schema = fieldsOf(value);
  return schema["type"] === "object" ? { ...schema } : { type: "object", properties: {}, ...schema };
}

/** Undefined without a name. */
export function functionTool(
  tool: Fields,
  schema: unknown,
  namespace?: string,
  form: ToolForm = "function",
): OfferedTool | undefined {
  const name = textOf(tool["name"]);
  if (name === "") return undefined;
  const flat = namespace === undefined ? name : toolName(`${namespace}__${name}`);
  const spec = {
    name: offeredName(flat),
    description: textOf(tool["description"]),
    parameters: schemaOf(schema),
  };
  return { spec, form, name, flat };
}

/** Of two tools with one name the first. */
export function distinct(tools: readonly (OfferedTool | undefined)[]): OfferedTool[] {
  const byName = new Map<string, OfferedTool>();
  for (const tool of tools) if (tool && !byName.has(tool.spec.name)) byName.set(tool.spec.name, tool);
  return [...byName.values()];
}

/**
 * Those that the request's choice leaves: none, or the one that it names. That a tool must be called cannot be said in every
 * protocol, so it is not said.
 */
export function chosen(tools: readonly OfferedTool[], choice: unknown): readonly OfferedTool[] {
  const { type, name, function: named } = fieldsOf(choice);
  if (choice === "none" || type === "none") return [];
  const only = textOf(name) || textOf(fieldsOf(named)["name"]);
  const left = only === "" ? [] : tools.filter((tool) => tool.name === only);
  return left.length > 0 ? left : tools;
}

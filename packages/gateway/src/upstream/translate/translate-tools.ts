/** Converts a harness's tools to functions, which every protocol has, and calls back to the harness's own tools. */
import { createHash } from "node:crypto";
import type { JsonSchema, ToolSpec } from "@pagurus/contract/harness/tool";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { AnswerShape } from "@pagurus/core/model/provider-types";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import type { AskedShape } from "./answer-shapes.ts";

/** Form of the harness's tool: a function, free text, a shell command, or a tool search. */
type ToolForm = "function" | "custom" | "local_shell" | "tool_search";

export interface OfferedTool {
  spec: ToolSpec;
  form: ToolForm;
  /** The harness's own name. */
  name: string;
  /** Name of the tool in our messages: with its namespace, if any, as a prefix. */
  flat: string;
}

/** OpenAI rejects longer names. */
const LONGEST_NAME = 64;

/** A name that every provider accepts; the same for the tool and for earlier calls of it. */
export function offeredName(name: string): string {
  const plain = toolName(name);
  if (plain.length <= LONGEST_NAME) return plain;
  const hash = createHash("sha256").update(plain).digest("hex").slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - 9)}_${hash}`;
}

/** A schema with an object at the top level, as the providers require. */
function schemaOf(value: unknown): JsonSchema {
  const schema = recordOf(value);
  return schema["type"] === "object" ? { ...schema } : { type: "object", properties: {}, ...schema };
}

/** Undefined without a name. */
export function functionTool(
  tool: Fields,
  schema: unknown,
  namespace?: string,
  form: ToolForm = "function",
): OfferedTool | undefined {
  const name = stringOf(tool["name"]);
  if (name === "") return undefined;
  const flat = namespace === undefined ? name : toolName(`${namespace}__${name}`);
  const spec = {
    name: offeredName(flat),
    description: stringOf(tool["description"]),
    parameters: schemaOf(schema),
  };
  return { spec, form, name, flat };
}

/** Removes tools with duplicate names; the first one stays. */
export function distinct(tools: readonly (OfferedTool | undefined)[]): OfferedTool[] {
  const byName = new Map<string, OfferedTool>();
  for (const tool of tools) if (tool && !byName.has(tool.spec.name)) byName.set(tool.spec.name, tool);
  return [...byName.values()];
}

/**
 * The tools that the request's choice allows, and the choice in the model's names. A choice of a tool that is not offered, or that only
 * its provider runs, leaves all tools.
 */
export function chosen(
  tools: readonly OfferedTool[],
  { choice, ...shape }: AskedShape,
): { tools: readonly OfferedTool[]; shape: AnswerShape } {
  const named = tools.find(({ name }) => name === choice?.name);
  if (named) return { tools, shape: { ...shape, toolChoice: { name: named.spec.name } } };
  const toolChoice = choice?.mode;
  const allowed = tools.filter(({ name }) => choice?.allowed?.includes(name));
  return {
    tools: allowed.length > 0 ? allowed : tools,
    shape: toolChoice === undefined ? shape : { ...shape, toolChoice },
  };
}

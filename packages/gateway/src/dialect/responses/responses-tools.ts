/** The tools that a request offers, by the names in our messages. */
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import { itemParts, type ItemFields } from "@pagurus/core/protocols/responses/responses-items";
import { objectMembers, parsePart, wholeMembers } from "../../json/scan.ts";
import type { WireRequest } from "../wire-dialect.ts";
import { defined } from "@pagurus/core/data/defined";

export interface OfferedTool {
  name: string;
  namespace?: string;
  /** Its input is text and not JSON. */
  isCustom: boolean;
}

/** Empty if the request cannot be read. */
export function offeredTools({ body, items }: WireRequest): Map<string, OfferedTool> {
  const found = new Map<string, OfferedTool>();
  try {
    const listed = [wholeMembers(body).get("tools"), ...items.map((item) => toolsOf(body, item))];
    for (const span of listed) if (span) addTools(found, itemParts(parsePart(body, span)), undefined);
  } catch {
    // The call is written by its own name then.
    return found;
  }
  return found;
}

/** Some models of Codex get their tools in the input. */
function toolsOf(
  body: Buffer,
  item: WireRequest["items"][number],
): { start: number; end: number } | undefined {
  return item.kind === "setting" ? objectMembers(body, item).get("tools") : undefined;
}

function addTools(
  found: Map<string, OfferedTool>,
  tools: readonly ItemFields[],
  namespace: string | undefined,
): void {
  for (const tool of tools) {
    const { name, type } = tool as Record<string, unknown>;
    if (typeof name !== "string") continue;
    if (type === "namespace") addTools(found, itemParts(tool["tools"]), name);
    else {
      const flat = toolName(namespace === undefined ? name : `${namespace}__${name}`);
      found.set(flat, { name, isCustom: type === "custom", ...defined({ namespace }) });
    }
  }
}

/** The input of a custom tool; our messages keep text that is not JSON as `input`. */
export function customInput(args: Readonly<Record<string, unknown>>): string {
  const { input } = args;
  return typeof input === "string" && Object.keys(args).length === 1 ? input : JSON.stringify(args);
}

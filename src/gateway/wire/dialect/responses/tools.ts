/** The tools that a request offers, by the names that our messages call them by. */
import { itemParts, toolName, type ItemFields } from "../../../../responses/items.ts";
import { objectMembers, parsePart, wholeMembers } from "../../json/scan.ts";
import type { WireRequest } from "../dialect.ts";

export interface OfferedTool {
  name: string;
  namespace?: string;
  /** Takes a text and no JSON. */
  isCustom: boolean;
}

/** Empty where the request cannot be read. */
export function offeredTools({ body, items }: WireRequest): Map<string, OfferedTool> {
  const found = new Map<string, OfferedTool>();
  try {
    const listed = [wholeMembers(body).get("tools"), ...items.map((item) => toolsOf(body, item))];
    for (const span of listed) if (span) addTools(found, itemParts(parsePart(body, span)), undefined);
  } catch {
    // Then a call is told by the name that it has.
    return found;
  }
  return found;
}

/** Some models of Codex's are told their tools in the input. */
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
      found.set(flat, {
        name,
        isCustom: type === "custom",
        ...(namespace === undefined ? {} : { namespace }),
      });
    }
  }
}

/** What a custom tool is given; our messages keep a text that is no JSON as `input`. */
export function customInput(given: Readonly<Record<string, unknown>>): string {
  const { input } = given;
  return typeof input === "string" && Object.keys(given).length === 1 ? input : JSON.stringify(given);
}

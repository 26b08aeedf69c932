/** Items of the Responses API: the elements of a request's input and of an answer's output. */
import { createHash } from "node:crypto";
import { asRecord } from "@pagurus/core/data/record-fields";
import { WireCallError } from "@pagurus/gateway/server/faults";
import { defined } from "@pagurus/core/data/defined";

export type Item = Readonly<Record<string, unknown>>;

/** An item and the model that made it; one of the client has none. */
export interface StoredItem {
  item: Item;
  model?: string;
  /** Makes its id if it has none: the same for the same place of the same response. */
  source?: string;
}

/** Type of an input item that names another one. */
export const REFERENCE = "item_reference";

/** First letters of an item's id, by its type. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
};

/** The input as items; a text is a user's message. Throws `WireCallError`. */
export function itemsOf(input: unknown, field = "input"): Item[] {
  if (input === undefined || input === null) return [];
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (!Array.isArray(input))
    throw new WireCallError("bad_request", `The field "${field}" has to be a text or a list of items.`);
  return input.map((each, at) => {
    const item = asRecord(each);
    if (item && (typeof item["type"] === "string" || typeof item["role"] === "string")) return item;
    // The type of a reference may be absent.
    if (typeof item?.["id"] === "string") return { ...item, type: REFERENCE };
    throw new WireCallError("bad_request", `Item ${at} of "${field}" has neither a type nor a role.`);
  });
}

/** An item as clients read it: in the long form, with an id. `source` makes the id of one that has none. */
export function shownItem(item: Item, source: string): Item {
  const { type = "message", id, content, role } = item;
  const prefix = ID_PREFIXES[String(type)] ?? "item";
  const shown: Record<string, unknown> = {
    ...item,
    type,
    id: typeof id === "string" ? id : `${prefix}_${digest(source)}`,
  };
  if (type !== "message" && type !== "function_call" && type !== "function_call_output") return shown;
  shown["status"] ??= "completed";
  if (typeof content === "string")
    shown["content"] = [
      role === "assistant"
        ? { type: "output_text", text: content, annotations: [] }
        : { type: "input_text", text: content },
    ];
  return shown;
}

/**
 * What is sent of earlier items: what the newest compaction replaced is left out, and reasoning that only another model can read or
 * only the provider has.
 */
export function repeatable(items: readonly StoredItem[], model: string): Item[] {
  const compacted = items.findLastIndex(({ item }) => item["type"] === "compaction");
  return items
    .slice(Math.max(0, compacted))
    .filter((each) => isReadable(each, model))
    .map(({ item }) => item);
}

/** False for reasoning that only another model can read or only the provider has. */
export function isReadable({ item, model: from }: StoredItem, model: string): boolean {
  return item["type"] !== "reasoning" || (typeof item["encrypted_content"] === "string" && from === model);
}

function digest(source: string): string {
  return createHash("sha256").update(source).digest("hex").slice(0, 48);
}

export interface PageQuery {
  after?: string;
  limit: number;
  isAscending: boolean;
}

/** Throws `WireCallError`. */
export function pageQuery(query: string): PageQuery {
  const asked = new URLSearchParams(query);
  const limit = Number(asked.get("limit") ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    throw new WireCallError("bad_request", 'The parameter "limit" has to be a number from 1 to 100.');
  const order = asked.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc")
    throw new WireCallError("bad_request", 'The parameter "order" has to be "asc" or "desc".');
  const after = asked.get("after");
  return { limit, isAscending: order === "asc", ...defined({ after: after ?? undefined }) };
}

/** A page of the items, which are oldest first. Throws `WireCallError`. */
export function pageOf(items: readonly Item[], { after, limit, isAscending }: PageQuery): object {
  const ordered = isAscending ? items : items.toReversed();
  const at = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && at === 0)
    throw new WireCallError("bad_request", `The list has no item "${after}" to continue after.`);
  const data = ordered.slice(at, at + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: at + limit < ordered.length,
  };
}

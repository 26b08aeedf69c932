/** The routes of conversations: create, show, describe, delete, and their items. */
import { asRecord } from "@pagurus/core/data/record-fields";
import { attempt } from "@pagurus/core/data/attempt";
import { parseWellFormed } from "@pagurus/core/data/well-formed";
import type { WireReply } from "@pagurus/gateway/dialect/wire-dialect";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import { jsonReply } from "../json-reply.ts";
import type { Conversation, ConversationStore, PlacedItem } from "./conversation-store.ts";
import { itemsOf, pageOf, pageQuery, shownItem, type Item } from "./items.ts";
import type { RecordStores } from "./response-request.ts";

const PATH = /^\/conversations(?:\/([^/]+)(?:\/(items)(?:\/([^/]+))?)?)?$/;
/** Most items that one request adds, as at OpenAI. */
const MOST_ADDED_ITEMS = 20;

/** The reply to a request. Throws `WireCallError`. */
export async function conversationRoute(
  call: WireCall,
  token: string,
  stores: RecordStores,
): Promise<WireReply> {
  const { method, path, query } = call;
  const [matched, id, items, itemId] = PATH.exec(path) ?? [];
  const unknown = new WireCallError(
    "not_found",
    `There is no ${method} /v1${path}; see the guide "Model API".`,
  );
  if (matched === undefined) throw unknown;
  const { conversations } = stores;
  if (id === undefined) {
    if (method !== "POST") throw unknown;
    const body = await bodyOf(call);
    return jsonReply(shownConversation(conversations.create(token, metadataOf(body), newItems(body))));
  }
  const found = conversations.find(token, id);
  if (!found) throw new WireCallError("not_found", `There is no conversation "${id}" for this token.`);
  if (items === undefined) return jsonReply(await ofConversation(call, token, found, stores));
  if (itemId !== undefined) return jsonReply(ofItem(method, found, itemId, conversations) ?? fail(unknown));
  if (method === "GET") return jsonReply(pageOf(conversations.items(id).map(shown), pageQuery(query)));
  if (method !== "POST") throw unknown;
  const added = conversations.add(
    id,
    newItems(await bodyOf(call)).map((item) => ({ item })),
  );
  return jsonReply(pageOf(added.map(shown), { limit: MOST_ADDED_ITEMS, isAscending: true }));
}

async function ofConversation(
  call: WireCall,
  token: string,
  found: Conversation,
  { db, conversations, responses }: RecordStores,
): Promise<object> {
  const { id } = found;
  if (call.method === "GET") return shownConversation(found);
  if (call.method === "DELETE") {
    db.transaction(() => {
      conversations.remove(token, id);
      responses.removeConversation(token, id);
    });
    return { id, object: "conversation.deleted", deleted: true };
  }
  if (call.method !== "POST")
    throw new WireCallError("not_found", `There is no ${call.method} for a conversation.`);
  const metadata = metadataOf(await bodyOf(call));
  conversations.describe(token, id, metadata);
  return shownConversation({ ...found, metadata });
}

/** Undefined for an unknown method. */
function ofItem(
  method: string,
  found: Conversation,
  itemId: string,
  conversations: ConversationStore,
): object | undefined {
  if (method !== "GET" && method !== "DELETE") return undefined;
  const item = conversations.items(found.id).find(({ id }) => id === itemId);
  if (!item) throw new WireCallError("not_found", `The conversation "${found.id}" has no item "${itemId}".`);
  if (method === "GET") return shown(item);
  conversations.removeItem(found.id, itemId);
  return shownConversation(found);
}

function fail(error: WireCallError): never {
  throw error;
}

function shown({ id, item }: PlacedItem): Item {
  return { ...shownItem(item, id), id };
}

function shownConversation({ id, created, metadata }: Conversation): object {
  return { id, object: "conversation", created_at: created, metadata };
}

/** Throws `WireCallError`. */
async function bodyOf(call: WireCall): Promise<Record<string, unknown>> {
  const bytes = await call.body();
  const body = bytes.length === 0 ? {} : attempt(() => asRecord(parseWellFormed(bytes)));
  if (!body) throw new WireCallError("bad_request", "The body is not a JSON object.");
  const unknown = Object.keys(body).find((name) => name !== "items" && name !== "metadata");
  if (unknown !== undefined)
    throw new WireCallError(
      "bad_request",
      `Conversations do not know the field "${unknown}"; remove it from the request.`,
    );
  return body;
}

/** Throws `WireCallError`. */
function newItems(body: Record<string, unknown>): Item[] {
  const items = itemsOf(body["items"], "items");
  if (items.length <= MOST_ADDED_ITEMS) return items;
  throw new WireCallError(
    "bad_request",
    `A request adds at most ${MOST_ADDED_ITEMS} items; send ${items.length} in several requests.`,
  );
}

/** Throws `WireCallError`. */
function metadataOf({ metadata }: Record<string, unknown>): Record<string, unknown> {
  if (metadata === undefined || metadata === null) return {};
  const read = asRecord(metadata);
  if (read && Object.values(read).every((value) => typeof value === "string")) return { ...read };
  throw new WireCallError(
    "bad_request",
    'The field "metadata" has to be an object with texts as its values.',
  );
}

/** The Responses API over the store: what a request continues, its record, background runs, and the routes of responses. */
import { Readable } from "node:stream";
import { attempt } from "@pagurus/core/data/attempt";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { Database } from "@pagurus/core/data/sqlite";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import { InOrder } from "../in-order.ts";
import { jsonReply } from "../json-reply.ts";
import type { WholeRequest } from "../whole-request.ts";
import { BackgroundRun, lastEvent } from "./background-run.ts";
import { conversationRoute } from "./conversation-routes.ts";
import { ConversationStore } from "./conversation-store.ts";
import { referredItems } from "./item-references.ts";
import { itemsOf, pageOf, pageQuery, repeatable, shownItem, type StoredItem } from "./items.ts";
import { recordedCall } from "./recorded-call.ts";
import { newResponseId, ResponseRecord, type RecordStores } from "./response-request.ts";
import { itemsAdded, KEPT_MS, ResponseStore, type StoredResponse } from "./response-store.ts";

/** A request whose answer goes to a client or to a background run. */
type UnansweredRequest = Omit<WholeRequest, "call">;

/** Registers what runs for a token; `end` is called once if the token ends before the returned function is called. */
export type OpenFor = (tokenId: string, end: () => void) => () => void;

export interface ResponsesApiOptions {
  db: Database;
  /** Checks a request that is answered later. Throws what refuses it. */
  check(asked: Record<string, unknown>): Promise<void>;
  /** Answers a request by a model or an agent. Throws what refuses it, before anything is sent. */
  answer(request: WholeRequest): Promise<void>;
  openFor?: OpenFor;
}

const RESPONSE = /^\/responses\/([^/]+)(?:\/(cancel|input_items))?$/;
/** Fields that only decide what a request continues, and how its response is kept. */
const OUR_FIELDS: ReadonlySet<string> = new Set([
  "previous_response_id",
  "conversation",
  "background",
  "store",
]);
const EVENT_HEADER_LIST = ["content-type", "text/event-stream", "cache-control", "no-cache"];

export class ResponsesApi {
  readonly #options: ResponsesApiOptions;
  readonly #responses: ResponseStore;
  readonly #conversations: ConversationStore;
  readonly #stores: RecordStores;
  /** Requests of each conversation. */
  readonly #turns = new InOrder();
  readonly #running = new Map<string, BackgroundRun>();
  readonly #done = new Set<Promise<void>>();
  #runs = 0;

  /** Throws SQLite's errors. */
  constructor(options: ResponsesApiOptions) {
    this.#options = options;
    this.#responses = new ResponseStore(options.db);
    this.#conversations = new ConversationStore(options.db);
    this.#stores = { db: options.db, responses: this.#responses, conversations: this.#conversations };
  }

  /** Whether a request is one of the routes here, besides making a response. */
  handles({ method, path }: WireCall): boolean {
    if (path === "/conversations" || path.startsWith("/conversations/")) return true;
    const [, id, action] = RESPONSE.exec(path) ?? [];
    if (id === undefined || (id === "compact" && method === "POST")) return false;
    return action === "cancel" ? method === "POST" : method === "GET" || (method === "DELETE" && !action);
  }

  /** Answers one of the routes. Throws `WireCallError`. */
  async route(call: WireCall, tokenId: string): Promise<void> {
    if (call.path.startsWith("/conversations")) {
      return call.reply(await conversationRoute(call, tokenId, this.#stores));
    }
    const [, id = "", action] = RESPONSE.exec(call.path) ?? [];
    const stored = this.#found(tokenId, id);
    if (call.method === "DELETE") {
      this.#running.get(keyOf(stored))?.cancel();
      this.#responses.remove(tokenId, id);
      return call.reply(jsonReply({ id, object: "response", deleted: true }));
    }
    if (action === "cancel") return call.reply(jsonReply(this.#cancelled(stored)));
    if (action === "input_items") return call.reply(jsonReply(this.#inputItems(stored, call.query)));
    const query = new URLSearchParams(call.query);
    if (query.get("stream") === "true")
      return this.#follow(call, stored, Number(query.get("starting_after") ?? -1));
    return call.reply(jsonReply(this.#running.get(keyOf(stored))?.record.stored.response ?? stored.response));
  }

  /** Throws `WireCallError`. */
  #found(token: string, id: string): StoredResponse {
    const stored = this.#responses.find(token, id);
    if (stored) return stored;
    throw new WireCallError(
      "not_found",
      `There is no response "${id}" for this token: it was not stored, was deleted, or is older than 30 days.`,
    );
  }

  /** Throws `WireCallError`. */
  #cancelled(stored: StoredResponse): Record<string, unknown> {
    if (!stored.background)
      throw new WireCallError(
        "bad_request",
        `Only a background response can be cancelled; end the request of "${stored.id}" instead.`,
      );
    const run = this.#running.get(keyOf(stored));
    run?.cancel();
    return run?.record.stored.response ?? stored.response;
  }

  #inputItems(stored: StoredResponse, query: string): object {
    const own = itemsAdded(stored).slice(0, stored.input.length);
    const items = [...this.#before(stored), ...own];
    const shown = items.map(({ item, source }, at) => shownItem(item, source ?? `${stored.id} ${at}`));
    return pageOf(shown, pageQuery(query));
  }

  /** The items that a response continues. */
  #before(stored: StoredResponse): StoredItem[] {
    const { conversation } = stored;
    if (conversation) return this.#conversations.items(conversation.id, conversation.from);
    const earlier = this.#responses.chain(stored).slice(0, -1);
    const [first] = earlier;
    return [...(first?.conversation ? this.#before(first) : []), ...earlier.flatMap(itemsAdded)];
  }

  /** Sends the events of a background response, those to come too. Throws `WireCallError`. */
  async #follow(call: WireCall, stored: StoredResponse, after: number): Promise<void> {
    if (stored.background?.streams !== true)
      throw new WireCallError(
        "bad_request",
        `The events of "${stored.id}" cannot be followed: it was not made with "background" and "stream".`,
      );
    const run = this.#running.get(keyOf(stored));
    if (run) return void (await call.pass(eventAnswer(Readable.from(textsOf(run, after, call.signal)))));
    const kept = this.#responses.events(stored.token, stored.id);
    const events = kept.length > 0 ? kept : [lastEvent(stored.response, after + 1)];
    const texts = events.filter(({ sequence }) => sequence > after).map(({ text }) => Buffer.from(text));
    await call.pass(eventAnswer(Readable.from(texts)));
  }

  /** Makes a response. Throws what refuses the request, before anything is sent. */
  async create(request: WholeRequest): Promise<void> {
    const { asked, owner, named } = request;
    const conversation = conversationId(asked["conversation"]);
    const names = [conversation, asked["previous_response_id"] ?? undefined, named];
    if (names.filter((name) => name !== undefined).length > 1)
      throw new WireCallError(
        "bad_request",
        'The request names its conversation twice; send one of "conversation", "previous_response_id" and X-Pagurus-Session.',
      );
    if (conversation === undefined) return this.#create(this.#resolved(request), undefined);
    if (!this.#conversations.find(owner, conversation)) throw noConversation(conversation);
    // Two requests at once would each continue the conversation without the other.
    return this.#turns.run(conversation, () => this.#create(this.#resolved(request), conversation));
  }

  /** The request with the items that its input names. Throws `WireCallError`. */
  #resolved<Request extends UnansweredRequest>(request: Request): Request {
    const { asked, owner } = request;
    const input = referredItems(
      asked["input"],
      stringOf(asked["model"]),
      (id) => this.#responses.item(owner, id) ?? this.#conversations.item(owner, id),
    );
    return input ? { ...request, asked: { ...asked, input } } : request;
  }

  /** A request that makes no response, with all that it continues. Throws `WireCallError`. */
  continued(request: WholeRequest): WholeRequest {
    const { conversation: named, ...asked } = this.#resolved(request).asked;
    const whole = this.withPrevious({ ...request, asked });
    const conversation = conversationId(named);
    if (conversation === undefined) return whole;
    if (!this.#conversations.find(request.owner, conversation)) throw noConversation(conversation);
    const before = repeatable(this.#conversations.items(conversation), stringOf(asked["model"]));
    return { ...whole, asked: { ...whole.asked, input: [...before, ...itemsOf(whole.asked["input"])] } };
  }

  async #create(request: WholeRequest, conversation: string | undefined): Promise<void> {
    const { asked, call, folder } = request;
    const isBackground = asked["background"] === true;
    const isStored = asked["store"] !== false;
    if (isBackground && !isStored)
      throw new WireCallError(
        "bad_request",
        'A background response has to be stored; remove "store": false.',
      );
    const previous = stringOf(asked["previous_response_id"]);
    const background = { asked, folder, streams: asked["stream"] === true };
    const stored: StoredResponse = {
      token: request.owner,
      id: newResponseId(),
      created: Math.floor(Date.now() / 1000),
      status: "in_progress",
      model: stringOf(asked["model"]),
      input: itemsOf(asked["input"]),
      response: {},
      attempt: 0,
      ...(previous === "" ? {} : { previous }),
      ...(conversation === undefined ? {} : { conversation: { id: conversation, from: 0 } }),
      ...(isBackground ? { background } : {}),
    };
    const record = this.#record(stored, asked, isStored);
    const whole = this.#whole(record, request);
    if (!isBackground) return this.#options.answer({ ...whole, call: recordedCall(call, record) });
    await this.#options.check(whole.asked);
    record.begins("queued");
    const run = this.#begun(record);
    const done = this.#start(run, whole);
    if (!background.streams) call.reply(jsonReply(record.stored.response));
    else await call.pass(eventAnswer(Readable.from(textsOf(run, -1, call.signal))));
    // The conversation's next request continues this one.
    if (conversation !== undefined) await done;
  }

  #record(stored: StoredResponse, asked: Record<string, unknown>, isStored: boolean): ResponseRecord {
    return new ResponseRecord({ stores: this.#stores, asked, stored, isStored });
  }

  /** A request with the input that its previous response continues, too. Throws `WireCallError`. */
  withPrevious<Request extends UnansweredRequest>(request: Request): Request {
    const { previous_response_id: previous, ...asked } = request.asked;
    if (previous === undefined || previous === null) return request;
    const last = this.#last(request.owner, stringOf(previous));
    const before = [...this.#before(last), ...itemsAdded(last)];
    const input = [...repeatable(before, stringOf(asked["model"])), ...itemsOf(asked["input"])];
    return { ...request, asked: { ...asked, input }, ...preferredOf(last) };
  }

  /** A response that another one may continue. Throws `WireCallError`. */
  #last(token: string, id: string): StoredResponse {
    const last = this.#found(token, id);
    if (last.status !== "queued" && last.status !== "in_progress") return last;
    throw new WireCallError("bad_request", `The response "${id}" has not ended yet; wait for its end.`);
  }

  /** The request with all items that it continues, and without the fields that are read here. Throws `WireCallError`. */
  #whole(record: ResponseRecord, request: UnansweredRequest): UnansweredRequest {
    const { token, conversation, input, model } = record.stored;
    const { asked, ...whole } = this.withPrevious(request);
    const kept = Object.fromEntries(Object.entries(asked).filter(([name]) => !OUR_FIELDS.has(name)));
    const placed = (sessionKey: string): void => record.placed(sessionKey);
    if (!conversation) return { ...whole, asked: { ...kept, input: itemsOf(asked["input"]) }, placed };
    const before = repeatable(this.#conversations.items(conversation.id), model);
    return {
      ...whole,
      owner: `${token}/${conversation.id}`,
      asked: { ...kept, input: [...before, ...input] },
      placed,
    };
  }

  #begun(record: ResponseRecord): BackgroundRun {
    const run = new BackgroundRun(record);
    this.#running.set(keyOf(record.stored), run);
    const forget = this.#options.openFor?.(record.stored.token, () => run.cancel());
    if (forget) void run.over.then(forget);
    return run;
  }

  /** Resolves when it has ended. */
  #start(run: BackgroundRun, whole: UnansweredRequest): Promise<void> {
    const { token, id, background } = run.record.stored;
    const asked = { ...whole.asked, stream: true };
    const body = Buffer.from(JSON.stringify(asked));
    const done = run
      .run(this.#runs++, body, (call) => this.#options.answer({ ...whole, asked, call, idempotencyKey: id }))
      .then(() => {
        if (background?.streams === true) this.#responses.keepEvents(token, id, run.events);
      })
      .finally(() => this.#running.delete(keyOf(run.record.stored)))
      // The client has the state of the response; a failure to keep its events is not one of the response.
      .catch(() => undefined);
    this.#done.add(done);
    void done.then(() => this.#done.delete(done));
    return done;
  }

  /**
   * Runs again what a process left without an end, once `ready` resolves; until then it can be followed and cancelled, and requests of
   * its conversation wait for it.
   */
  resume(ready: Promise<void>): void {
    for (const stored of this.#responses.unfinished()) {
      const { background, conversation } = stored;
      if (!background || this.#running.has(keyOf(stored))) continue;
      const record = this.#record({ ...stored, attempt: stored.attempt + 1 }, background.asked, true);
      const run = this.#begun(record);
      const begin = async (): Promise<void> => {
        await ready;
        await this.#again(run, background);
      };
      void (conversation ? this.#turns.run(conversation.id, begin) : begin());
    }
  }

  /** Never throws: what it continues may be gone, and no caller waits for the error. */
  async #again(
    run: BackgroundRun,
    { asked, folder }: { asked: Record<string, unknown>; folder: string },
  ): Promise<void> {
    const { stored } = run.record;
    try {
      if (!run.isOver)
        await this.#start(
          run,
          this.#whole(run.record, { asked, owner: stored.token, token: stored.token, folder }),
        );
    } catch (error) {
      // A record that cannot be written is run again by a later process.
      attempt(() => run.fail("server_error", String(error)));
    } finally {
      this.#running.delete(keyOf(stored));
    }
  }

  /** Deletes what is too old. */
  prune(): void {
    this.#responses.prune(Math.floor((Date.now() - KEPT_MS) / 1000));
  }

  /** Deletes the responses of a session that is gone. */
  forget(sessionKey: string): void {
    this.#responses.removeSession(sessionKey);
  }

  /** Stops background runs without an end: a later process runs them again. */
  close(): void {
    for (const run of this.#running.values()) run.interrupt();
  }

  /** Resolves when no run writes any more. */
  async closed(): Promise<void> {
    await Promise.all(this.#done);
  }
}

function preferredOf({ session }: StoredResponse): { preferred?: string } {
  return session === undefined ? {} : { preferred: session };
}

function keyOf({ token, id }: StoredResponse): string {
  return `${token} ${id}`;
}

function noConversation(id: string): WireCallError {
  return new WireCallError("not_found", `There is no conversation "${id}" for this token.`);
}

/** Throws `WireCallError`. */
function conversationId(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const id = typeof value === "string" ? value : stringOf(recordOf(value)["id"]);
  if (id === "")
    throw new WireCallError(
      "bad_request",
      'The field "conversation" has to be an id, or an object with an id.',
    );
  return id;
}

async function* textsOf(run: BackgroundRun, after: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const { text } of run.follow(after, signal)) yield Buffer.from(text);
}

function eventAnswer(stream: Readable): Parameters<WireCall["pass"]>[0] {
  return {
    status: 200,
    headers: { "content-type": "text/event-stream" },
    rawHeaders: EVENT_HEADER_LIST,
    stream,
  };
}

/** A request of the Responses API with what it continues, and the record of its response. */
import { randomBytes } from "node:crypto";
import type { WireHeaders } from "@pagurus/gateway/dialect/wire-dialect";
import type { Database } from "@pagurus/core/data/sqlite";
import type { ConversationStore } from "./conversation-store.ts";
import { responseObject } from "./response-object.ts";
import { ResponseRewriter } from "./response-rewriter.ts";
import {
  itemsAdded,
  type ResponseStatus,
  type ResponseStore,
  type StoredResponse,
} from "./response-store.ts";
import { defined } from "@pagurus/core/data/defined";

/** Numbers of a second run's events are above all of the first one, so that a client that follows gets each of them. */
const SEQUENCES_OF_A_RUN = 1_000_000;

export interface RecordStores {
  /** Of both. */
  db: Database;
  responses: ResponseStore;
  conversations: ConversationStore;
}

export interface ResponseRecordOptions {
  stores: RecordStores;
  /** The request as the client sent it. */
  asked: Readonly<Record<string, unknown>>;
  stored: StoredResponse;
  /** The client may name the response later. */
  isStored: boolean;
}

export class ResponseRecord {
  readonly #options: ResponseRecordOptions;
  #stored: StoredResponse;

  constructor(options: ResponseRecordOptions) {
    this.#options = options;
    this.#stored = options.stored;
  }

  get stored(): StoredResponse {
    return this.#stored;
  }

  /** Its session, known once the request is placed. */
  placed(session: string): void {
    this.#stored = { ...this.#stored, session };
    if (this.#stored.background) this.#options.stores.responses.put(this.#stored);
  }

  /** A rewriter of the answer, which stores the response before the client gets its end. */
  rewriter(
    status: number,
    headers: WireHeaders,
    sent?: (event: string, sequence: number) => void,
  ): ResponseRewriter {
    return new ResponseRewriter(status, headers, {
      replace: (upstream) => this.#object(upstream),
      ended: (response) => this.ended(response),
      firstSequence: this.#stored.attempt * SEQUENCES_OF_A_RUN,
      ...defined({ sent }),
    });
  }

  /** The object in a state without an answer. */
  object(status: ResponseStatus, error?: { code: string; message: string }): Record<string, unknown> {
    return this.#object({ status, ...defined({ error }) });
  }

  #object(upstream: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const { id, created, model, previous, conversation, background } = this.#stored;
    const { asked, isStored } = this.#options;
    return responseObject(upstream, {
      id,
      created,
      model,
      asked,
      isStored,
      isBackground: background !== undefined,
      ...defined({ previous, conversation: conversation?.id }),
    });
  }

  /** Stores a new state of a background response. Throws SQLite's errors. */
  begins(status: "queued" | "in_progress"): void {
    this.#stored = { ...this.#stored, status, response: this.object(status) };
    this.#options.stores.responses.put(this.#stored);
  }

  /** Stores the end, and adds what it has to the conversation. Throws SQLite's errors. */
  ended(response: Record<string, unknown>): void {
    const { db, responses, conversations } = this.#options.stores;
    const { conversation } = this.#stored;
    const status = response["status"] as ResponseStatus;
    const from = conversation ? conversations.end(conversation.id) : 0;
    this.#stored = {
      ...this.#stored,
      status,
      response,
      ...(conversation ? { conversation: { id: conversation.id, from } } : {}),
    };
    // A crash between the two would add the items again when the response is made again.
    db.transaction(() => {
      if (conversation && status !== "failed" && status !== "cancelled")
        conversations.add(conversation.id, itemsAdded(this.#stored));
      if (!this.#options.isStored) return;
      responses.put(this.#stored);
      responses.index(this.#stored);
    });
  }
}

export function newResponseId(): string {
  return `resp_${randomBytes(24).toString("hex")}`;
}

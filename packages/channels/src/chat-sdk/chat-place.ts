/**
 * What a channel of this folder keeps in the host's cursor: its place in the service, when it was last connected, and which message of the
 * service has which id of ours, so that an answer that grows is replaced also after a restart.
 */
import { defined } from "@pagurus/core/data/defined";
import { isRecord } from "@pagurus/core/data/record-fields";

/** Messages whose ids are known; older ones cannot be replaced. */
const MOST_SENT = 50;
/** Direct chats that are known. */
const MOST_CHATS = 500;

interface Kept {
  at?: number;
  seen: number;
  sent: [id: string, ref: string][];
  taken?: [id: string, writtenAt: number][];
  chats?: string[];
  session?: unknown;
}

export class ChatPlace {
  /** Place in the service: what it means is up to the channel. */
  at: number | undefined;
  /** By which a connection is continued: what it is is up to the channel, JSON. */
  session: unknown;
  /** When the channel was last connected, ms since the epoch; undefined before the first connection. */
  readonly seenBefore: number | undefined;
  readonly #sent: Map<string, string>;
  /** Messages that are received already, of those written since `at`. */
  readonly #taken: Map<string, number>;
  readonly #chats: Set<string>;
  #writtenAt = 0;

  /** An unreadable cursor is as none. */
  constructor(cursor: string | undefined) {
    const kept = keptIn(cursor);
    this.at = kept?.at;
    this.seenBefore = kept?.seen;
    this.#sent = new Map(kept?.sent);
    this.#taken = new Map(kept?.taken);
    this.#chats = new Set(kept?.chats);
    this.session = kept?.session;
  }

  /** When the cursor was last made, ms since the epoch; 0 for never. */
  get writtenAt(): number {
    return this.#writtenAt;
  }

  /** The service's id of a message of ours. */
  refOf(id: string): string | undefined {
    return this.#sent.get(id);
  }

  /** Our id of a message that the service names so. */
  idOf(ref: string): string | undefined {
    for (const [id, known] of this.#sent) if (known === ref) return id;
    return undefined;
  }

  keep(id: string, ref: string): void {
    this.#sent.set(id, ref);
    for (const old of this.#sent.keys()) {
      if (this.#sent.size <= MOST_SENT) break;
      this.#sent.delete(old);
    }
  }

  /** Direct chats of a service that does not list them, the latest last. */
  get chats(): ReadonlySet<string> {
    return this.#chats;
  }

  addChat(id: string): void {
    this.#chats.delete(id);
    this.#chats.add(id);
    const [oldest] = this.#chats;
    if (this.#chats.size > MOST_CHATS && oldest !== undefined) this.#chats.delete(oldest);
  }

  isTaken(id: string): boolean {
    return this.#taken.has(id);
  }

  /** For a service whose place is a time: this message, written at a time in ms since the epoch, is not received again. */
  take(id: string, writtenAt: number): void {
    this.#taken.set(id, writtenAt);
  }

  /** As the host stores it. */
  cursor(): string {
    this.#writtenAt = Date.now();
    const { at } = this;
    // What is older is not listed any more.
    for (const [id, writtenAt] of this.#taken) if (at !== undefined && writtenAt < at) this.#taken.delete(id);
    const kept: Kept = {
      ...defined({ at }),
      seen: this.#writtenAt,
      sent: [...this.#sent],
      ...(this.#taken.size > 0 && { taken: [...this.#taken] }),
      ...(this.#chats.size > 0 && { chats: [...this.#chats] }),
      ...defined({ session: this.session }),
    };
    return JSON.stringify(kept);
  }
}

function keptIn(cursor: string | undefined): Kept | undefined {
  let value: unknown;
  try {
    value = JSON.parse(cursor ?? "");
  } catch {
    return undefined;
  }
  if (!isRecord(value) || typeof value["seen"] !== "number" || !Array.isArray(value["sent"]))
    return undefined;
  const sent = value["sent"].filter(
    (each): each is [string, string] =>
      Array.isArray(each) && typeof each[0] === "string" && typeof each[1] === "string",
  );
  const { at, taken = [], chats = [], session } = value;
  return {
    ...(typeof at === "number" && { at }),
    seen: value["seen"],
    sent,
    taken: (Array.isArray(taken) ? taken : []).filter(
      (each): each is [string, number] =>
        Array.isArray(each) && typeof each[0] === "string" && typeof each[1] === "number",
    ),
    session,
    chats: (Array.isArray(chats) ? chats : []).filter((each) => typeof each === "string"),
  };
}

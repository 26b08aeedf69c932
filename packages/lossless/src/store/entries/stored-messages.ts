/** Reads messages and their neighbours in sessions, one by one, cached for one answer. */
import { positionOf, segmentOf } from "./entry-place.ts";
import type { Home } from "../search/placing.ts";
import { wordsAt } from "./words-at.ts";
import { Depths, memberLength, parentOf, type SessionRow } from "./entry-tree.ts";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SearchHit } from "../store-types.ts";
import type { Words } from "../search/entry-words.ts";

/** Limit on skipped entries that are not messages. */
const OTHERS = 16;
/** Limit on the results that are searched for one call. */
const RESULTS = 32;

/** A message, summary or notice with its place. */
export interface StoredMessage {
  /** Unique key. */
  name: string;
  /** Id of the entry or summary. */
  id: string;
  place: number;
  session: SessionRow;
  onPath: boolean;
  turn?: string;
  role: SearchHit["role"];
  toolName?: string;
  /** Id of a result's call. */
  callId?: string;
  time: number;
  words: Words;
  /** Of an entry: without the data of its images. */
  message?: AgentMessage;
}

export class Conversation {
  readonly #home: Home;
  readonly #known = new Map<number, StoredMessage | undefined>();
  readonly #depths: Depths;

  constructor(home: Home) {
    this.#home = home;
    this.#depths = new Depths(home.db);
  }

  at(session: SessionRow, place: number, onPath: boolean): StoredMessage | undefined {
    if (!this.#known.has(place)) this.#known.set(place, this.#read(session, place, onPath));
    return this.#known.get(place);
  }

  #read(session: SessionRow, place: number, onPath: boolean): StoredMessage | undefined {
    const read = wordsAt(this.#home.db, place);
    if (!read) return undefined;
    const { row, entry, words } = read;
    const { message, kind, time } = entry;
    const role = message?.role ?? (kind === "compaction" ? "summary" : "notice");
    const stored: StoredMessage = {
      name: `entry ${place}`,
      id: row.id,
      place,
      session,
      onPath,
      role,
      time,
      words,
    };
    if (message) stored.message = message;
    if (row.turn !== null) stored.turn = row.turn;
    if (message?.role === "toolResult") {
      stored.toolName = message.toolName;
      stored.callId = message.toolCallId;
    }
    return stored;
  }

  next(message: StoredMessage): StoredMessage | undefined {
    return this.#step(message, 1);
  }

  previous(message: StoredMessage): StoredMessage | undefined {
    return this.#step(message, -1);
  }

  /** Up to `limit` messages before or after a message, nearest first; undefined as soon as one does not fit. */
  run(
    message: StoredMessage,
    { by, limit, fits }: { by: 1 | -1; limit: number; fits: (message: StoredMessage) => boolean },
  ): StoredMessage[] | undefined {
    const run: StoredMessage[] = [];
    for (let near = this.#step(message, by); near && run.length < limit; near = this.#step(near, by)) {
      if (!fits(near)) return undefined;
      run.push(near);
    }
    return run;
  }

  /** The result of a call of this message. */
  resultOf(message: StoredMessage, callId: string): StoredMessage | undefined {
    let result = this.next(message);
    for (let step = 0; result?.role === "toolResult" && step < RESULTS; step++) {
      if (result.callId === callId) return result;
      result = this.next(result);
    }
    return undefined;
  }

  /** The message that made the call of a result. */
  callerOf(message: StoredMessage): StoredMessage | undefined {
    let caller = this.#step(message, -1);
    for (let step = 0; caller?.role === "toolResult" && step < RESULTS; step++)
      caller = this.#step(caller, -1);
    return caller?.words.calls.some(({ id }) => id === message.callId) ? caller : undefined;
  }

  /** The previous or next message; stays on the path if the message is on it. */
  #step({ session, place, onPath }: StoredMessage, by: 1 | -1): StoredMessage | undefined {
    let at: number | undefined = place;
    for (let step = 0; step < OTHERS; step++) {
      at = by < 0 ? (parentOf(this.#home.db, at) ?? undefined) : this.#after(session, at, onPath);
      if (at === undefined) return undefined;
      const message = this.at(session, at, onPath);
      if (message && message.words.text !== "" && message.role !== "summary") return message;
    }
    return undefined;
  }

  #after(session: SessionRow, place: number, onPath: boolean): number | undefined {
    const { db, paths } = this.#home;
    if (onPath) return paths.at(session, this.#depths.of(place) + 1);
    return positionOf(place) + 1 < memberLength(db, session.num, segmentOf(place)) ? place + 1 : undefined;
  }
}

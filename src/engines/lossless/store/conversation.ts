/** Messages of sessions with what stands next to them, read one by one and kept while an answer is made. */
import { positionOf, segmentOf } from "./place.ts";
import type { Home } from "./placing.ts";
import { entryOf } from "./rows.ts";
import { sourceOf } from "./texts.ts";
import { depthOf, entryAt, memberLength, parentOf, type SessionRow } from "./tree.ts";
import type { SearchHit } from "./types.ts";
import { entryWords, type Words } from "./words.ts";

/** Entries that are no messages are passed over, so many of them. */
const OTHERS = 16;
/** Results of one message's calls that are looked through. */
const RESULTS = 32;
const NOTHING = new Uint8Array(0);

/** Something that was said. */
export interface Said {
  /** Tells it from everything else. */
  name: string;
  /** Of the entry, or of the summary. */
  id: string;
  place: number;
  session: SessionRow;
  onPath: boolean;
  role: SearchHit["role"];
  toolName?: string;
  /** Of a result: the call. */
  callId?: string;
  time: number;
  words: Words;
}

export class Conversation {
  readonly #home: Home;
  readonly #known = new Map<number, Said | undefined>();

  constructor(home: Home) {
    this.#home = home;
  }

  at(session: SessionRow, place: number, onPath: boolean): Said | undefined {
    if (!this.#known.has(place)) this.#known.set(place, this.#read(session, place, onPath));
    return this.#known.get(place);
  }

  #read(session: SessionRow, place: number, onPath: boolean): Said | undefined {
    const { db } = this.#home;
    const row = entryAt(db, place);
    if (!row) return undefined;
    // Images are told by their kind; nothing of them is read.
    const entry = entryOf(row, 0, { text: sourceOf(db).text, payload: () => NOTHING });
    const { message, kind, time } = entry;
    const words = entryWords(entry);
    const role = message?.role ?? (kind === "compaction" ? "summary" : "notice");
    const said: Said = { name: `entry ${place}`, id: row.id, place, session, onPath, role, time, words };
    if (message?.role === "toolResult") {
      said.toolName = message.toolName;
      said.callId = message.toolCallId;
    }
    return said;
  }

  next(said: Said): Said | undefined {
    return this.#step(said, 1);
  }

  /** The result of a call of this message. */
  resultOf(said: Said, callId: string): Said | undefined {
    let result = this.next(said);
    for (let step = 0; result?.role === "toolResult" && step < RESULTS; step++) {
      if (result.callId === callId) return result;
      result = this.next(result);
    }
    return undefined;
  }

  /** The message that made the call of a result. */
  callerOf(said: Said): Said | undefined {
    let caller = this.#step(said, -1);
    for (let step = 0; caller?.role === "toolResult" && step < RESULTS; step++)
      caller = this.#step(caller, -1);
    return caller?.words.calls.some(({ id }) => id === said.callId) ? caller : undefined;
  }

  /** The message before or behind, on the path where it is on the path. */
  #step({ session, place, onPath }: Said, by: 1 | -1): Said | undefined {
    let at: number | undefined = place;
    for (let step = 0; step < OTHERS; step++) {
      at = by < 0 ? (parentOf(this.#home.db, at) ?? undefined) : this.#behind(session, at, onPath);
      if (at === undefined) return undefined;
      const said = this.at(session, at, onPath);
      if (said && said.words.text !== "" && said.role !== "summary") return said;
    }
    return undefined;
  }

  #behind(session: SessionRow, place: number, onPath: boolean): number | undefined {
    const { db, paths } = this.#home;
    if (onPath) return paths.at(session, depthOf(db, place) + 1);
    return positionOf(place) + 1 < memberLength(db, session.num, segmentOf(place)) ? place + 1 : undefined;
  }
}

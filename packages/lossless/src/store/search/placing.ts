/** Finds the messages that contain a text: in each session the newest use, preferably on the active path. */
import type { Database } from "@pagurus/core/data/sqlite";
import { positionOf, segmentOf } from "../entries/entry-place.ts";
import { roleWeight } from "./search-rank.ts";
import { kindOf } from "../entries/entry-rows.ts";
import {
  Depths,
  membersOf,
  resolve,
  type Member,
  type Paths,
  type SessionRow,
} from "../entries/entry-tree.ts";
import type { AgentMessage } from "@pagurus/contract/message";
import { wordsAt } from "../entries/words-at.ts";
import { writtenBy } from "../entries/writers.ts";
import type { EntryKind, Role, SearchHit, SearchQuery } from "../store-types.ts";

/** Limit on the uses of one text that are read: the newest ones. */
const USES = 8;

export interface Home {
  db: Database;
  paths: Paths;
  /** The vector of a query; absent without an encoder. */
  encode?: ((query: string) => Promise<Int8Array | undefined>) | undefined;
}

/** A message or a summary of a session. */
export interface Spot {
  session: SessionRow;
  /** Place of the entry, or of a summary's last source entry. */
  place: number;
  kind: EntryKind | "node";
  role?: Role;
  /** Row number of the summary. */
  node?: number;
  turn?: string;
  time: number;
  onPath: boolean;
  /** Weight of its text. */
  weight: number;
}

interface UseRow {
  place: number;
  kind: number | null;
  time: number | null;
  turn: string | null;
  /** Last source entry of a summary. */
  last: number | null;
}

const USES_OF = `SELECT u.place, e.kind, e.time, e.turn, n.last FROM uses u
  LEFT JOIN entries e ON e.num = u.place LEFT JOIN nodes n ON n.num = -u.place
  WHERE u.text = ? ORDER BY u.tree DESC, u.place DESC LIMIT ?`;

type Use = Omit<Spot, "session" | "onPath">;

/** Parts of a query that depend on where a text is used. */
export type PlaceFilter = Pick<SearchQuery, "before" | "nodes" | "from" | "to" | "who" | "writer">;

/** A message whose content is read only where it matters. */
export interface Asked {
  time: number;
  role?: SearchHit["role"];
  message: () => AgentMessage | undefined;
}

/** Whether a message is of the times and the author that the query names. */
export function asksFor({ from, to, who, writer }: PlaceFilter): (of: Asked) => boolean {
  const isWritten = writer === undefined ? undefined : writtenBy(writer);
  return ({ time, role, message }) =>
    (from === undefined || time >= from) &&
    (to === undefined || time < to) &&
    (who ?? role) === role &&
    (isWritten?.(message()) ?? true);
}

/** Whether the query names times or an author, which a summary does not have. */
export function isNarrow({ from, to, who, writer }: PlaceFilter): boolean {
  return from !== undefined || to !== undefined || who !== undefined || writer !== undefined;
}

export class Placing {
  readonly #home: Home;
  readonly #query: PlaceFilter;
  readonly #wanted: ReadonlySet<number> | undefined;
  readonly #members = new Map<number, Member[]>();
  readonly #before = new Map<number, number>();
  readonly #depths: Depths;
  readonly #isAsked: (of: Asked) => boolean;

  constructor(home: Home, query: PlaceFilter, wanted: readonly SessionRow[] | undefined) {
    this.#home = home;
    this.#depths = new Depths(home.db);
    this.#query = query;
    this.#isAsked = asksFor(query);
    this.#wanted = wanted && new Set(wanted.map(({ num }) => num));
  }

  of(text: number): Spot[] {
    const bySession = new Map<number, Spot>();
    for (const row of this.#home.db.all<UseRow>(USES_OF, text, USES)) {
      const use = this.#use(row);
      if (!use) continue;
      for (const { session, length } of this.#membersOf(segmentOf(use.place))) {
        if (positionOf(use.place) >= length) continue;
        if (!this.#isBefore(session, use.place)) continue;
        const onPath = this.#home.paths.holds(session, use.place);
        const other = bySession.get(session.num);
        if (other && (other.onPath || !onPath)) continue;
        bySession.set(session.num, { ...use, session, onPath });
      }
    }
    // A fork shares the entries of its origin: each is found once, in a session that still has it on its path.
    const several = [...bySession.values()].toSorted((a, b) => Number(b.onPath) - Number(a.onPath));
    return several.filter(
      (spot, index) =>
        several.findIndex(({ place, node }) => place === spot.place && node === spot.node) === index,
    );
  }

  #use(row: UseRow): Use | undefined {
    const { place, time, turn, last } = row;
    if (place >= 0) {
      const { kind, role } = kindOf(row.kind ?? 0);
      if (kind === "compaction" && this.#query.nodes === false) return undefined;
      const use: Use = { place, kind, time: time ?? 0, weight: roleWeight(kind, role) };
      if (role !== undefined) use.role = role;
      if (turn !== null) use.turn = turn;
      const message = (): AgentMessage | undefined => wordsAt(this.#home.db, place)?.entry.message;
      return this.#isAsked({ ...use, message }) ? use : undefined;
    }
    if (last === null || this.#query.nodes === false || isNarrow(this.#query)) return undefined;
    return { place: last, kind: "node", node: -place, time: 0, weight: roleWeight("node", undefined) };
  }

  #membersOf(segment: number): readonly Member[] {
    let members = this.#members.get(segment);
    if (!members) {
      members = membersOf(this.#home.db, segment).filter(
        ({ session }) => this.#wanted?.has(session.num) ?? true,
      );
      this.#members.set(segment, members);
    }
    return members;
  }

  #isBefore(session: SessionRow, place: number): boolean {
    const { before } = this.#query;
    if (before === undefined) return true;
    const { db } = this.#home;
    let depth = this.#before.get(session.num);
    if (depth === undefined) {
      const mark = resolve(db, session.num, before);
      depth = mark === undefined ? Infinity : this.#depths.of(mark);
      this.#before.set(session.num, depth);
    }
    return this.#depths.of(place) < depth;
  }
}

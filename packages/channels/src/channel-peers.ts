/** People of channels: who may speak by a code, and who waits for it. The command line writes here too. */
import { randomInt } from "node:crypto";
import { uptime } from "node:os";
import type { Database } from "@pagurus/core/data/sqlite";
import { defined } from "@pagurus/core/data/defined";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS channel_peers (
  channel TEXT NOT NULL, address TEXT NOT NULL, name TEXT, state TEXT NOT NULL, code TEXT, asked INTEGER NOT NULL, up REAL NOT NULL,
  PRIMARY KEY (channel, address));`;

/** A code can be used for this long, ms. */
const CODE_MS = 60 * 60_000;
/** How far a clock is corrected in ordinary operation, ms. */
const MOST_CORRECTION_MS = 5_000;
/** Strangers of one domain, and of one channel, that wait at once: of more the oldest code of the domain with the most ends. */
const MOST_OF_DOMAIN = 20;
const MOST_WAITING = 200;
/** Strangers of one channel that get a code within an hour: each code is a message to someone. */
const MOST_IN_HOUR = 500;
/** Without letters and digits that look alike. */
const CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH = 8;

export interface Peer {
  channel: string;
  address: string;
  name?: string;
  state: "waiting" | "approved" | "blocked";
  code?: string;
  /** Milliseconds since the epoch. */
  askedAt: number;
}

/** `dropped`: had a code within the hour, which ended before its time. */
interface PeerRow {
  channel: string;
  address: string;
  name: string | null;
  state: Peer["state"] | "dropped";
  code: string | null;
  asked: number;
  /** Time since the machine started, ms. */
  up: number;
}

/** Times of this machine: by its clock, which can be set, and since its start, which cannot. */
export interface Clocks {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since the machine started, the same in all of its processes. */
  up(): number;
}

/** A stranger that got a code, or did not. */
export interface GivenCode {
  /** Absent where the stranger has one, or too many got one. */
  code?: string;
  /** What the owner should know about strangers that crowd out others. */
  problem?: string;
}

export const machineUp = (): number => uptime() * 1_000;

function peerOf({ channel, address, name, state, code, asked }: PeerRow & { state: Peer["state"] }): Peer {
  return {
    channel,
    address,
    ...defined({ name: name ?? undefined }),
    state,
    ...defined({ code: code ?? undefined }),
    askedAt: asked,
  };
}

/** `mail.example.org` and `example.org` are one domain: whoever has it makes as many names below it as they want. */
function domainOf(address: string): string {
  const host = address.slice(address.lastIndexOf("@") + 1).toLowerCase();
  return /^[\d.:]+$/.test(host) ? host : host.split(".").slice(-2).join(".");
}

function isShown(row: PeerRow): row is PeerRow & { state: Peer["state"] } {
  return row.state !== "dropped";
}

export class ChannelPeers {
  readonly #db: Database;
  readonly #clocks: Clocks;

  constructor(db: Database, clocks: Clocks) {
    this.#db = db;
    this.#clocks = clocks;
    db.raw.exec(SCHEMA);
  }

  find(channel: string, address: string): Peer | undefined {
    const row = this.#row(channel, address);
    return row && isShown(row) ? peerOf(row) : undefined;
  }

  /** In the order of their requests. */
  all(channel?: string): Peer[] {
    return this.#rows(channel).filter(isShown).map(peerOf);
  }

  /** Whether a stranger has a code that can be used. */
  isWaiting(channel: string, address: string): boolean {
    const row = this.#row(channel, address);
    return row?.state === "waiting" && this.#isValid(row);
  }

  /** A code for a stranger; of too many strangers the oldest ones lose theirs, so that no one is shut out. */
  codeFor(channel: string, address: string, name: string | undefined): GivenCode {
    const { rows, known } = this.#withoutOld(channel, address);
    if (known) return {};
    if (rows.length >= MOST_IN_HOUR)
      return {
        problem: `${rows.length} strangers got a code within an hour, which is the most; let in a person whom you expect by channels.${channel}.allow.`,
      };
    const problem = this.#makeSpace(
      domainOf(address),
      rows.filter(({ state }) => state === "waiting"),
    );
    const letters = Array.from({ length: CODE_LENGTH }, () => CODE_LETTERS[randomInt(CODE_LETTERS.length)]);
    const code = letters.join("");
    this.#db.run(
      `INSERT OR REPLACE INTO channel_peers (channel, address, name, state, code, asked, up)
       VALUES (?, ?, ?, 'waiting', ?, ?, ?)`,
      channel,
      address,
      name ?? null,
      code,
      this.#clocks.now(),
      this.#clocks.up(),
    );
    return { code, ...defined({ problem }) };
  }

  /** Those that wait or waited within the hour; removes older ones. `known`: the address needs no code. */
  #withoutOld(channel: string, address: string): { rows: PeerRow[]; known: boolean } {
    const rows: PeerRow[] = [];
    let known = false;
    for (const row of this.#rows(channel)) {
      const isStranger = row.state === "waiting" || row.state === "dropped";
      if (isStranger && !this.#isValid(row)) this.#remove(row);
      else if (isStranger) rows.push(row);
      known ||= row.address === address && row.state !== "dropped" && (!isStranger || this.#isValid(row));
    }
    return { rows, known };
  }

  /** Returns a sentence where a code had to end for the next one. */
  #makeSpace(domain: string, waiting: readonly PeerRow[]): string | undefined {
    const byDomain = Map.groupBy(waiting, ({ address }) => domainOf(address));
    const own = byDomain.get(domain) ?? [];
    const fullest = [...byDomain.values()].toSorted((one, other) => other.length - one.length)[0] ?? [];
    const crowd = own.length >= MOST_OF_DOMAIN ? own : waiting.length >= MOST_WAITING ? fullest : undefined;
    const [oldest] = crowd ?? [];
    if (!crowd || !oldest) return undefined;
    this.#db.run(
      "UPDATE channel_peers SET state = 'dropped', code = NULL WHERE channel = ? AND address = ?",
      oldest.channel,
      oldest.address,
    );
    return `${crowd.length} strangers of ${domainOf(oldest.address)} wait for approval, which is the most: the oldest of them lost its code.`;
  }

  /** The stranger with the code may speak from now on; undefined for a code that is unknown or too old. */
  approve(code: string): Peer | undefined {
    const wanted = code.trim().toUpperCase();
    const found = this.#rows().find((row) => row.state === "waiting" && row.code === wanted);
    if (!found) return undefined;
    if (!this.#isValid(found)) {
      // Whatever the clock says later, it has ended.
      this.#remove(found);
      return undefined;
    }
    this.#db.run(
      "UPDATE channel_peers SET state = 'approved', code = NULL WHERE channel = ? AND address = ?",
      found.channel,
      found.address,
    );
    return this.find(found.channel, found.address);
  }

  /** False where the channel does not know the address. */
  remove(channel: string, address: string): boolean {
    return this.#remove({ channel, address });
  }

  /** By both times: a clock that was set back makes no code valid again, and a start of the machine ends all codes. */
  #isValid({ asked, up }: PeerRow): boolean {
    const age = this.#clocks.now() - asked;
    const upAge = this.#clocks.up() - up;
    return age >= -MOST_CORRECTION_MS && age <= CODE_MS && upAge >= 0 && upAge <= CODE_MS;
  }

  #row(channel: string, address: string): PeerRow | undefined {
    const select = "SELECT * FROM channel_peers WHERE channel = ? AND address = ?";
    return this.#db.get<PeerRow>(select, channel, address);
  }

  #rows(channel?: string): PeerRow[] {
    return this.#db.all<PeerRow>(
      "SELECT * FROM channel_peers WHERE channel = ? OR ? IS NULL ORDER BY channel, asked, rowid",
      channel ?? null,
      channel ?? null,
    );
  }

  #remove({ channel, address }: Pick<PeerRow, "channel" | "address">): boolean {
    return this.#db.run("DELETE FROM channel_peers WHERE channel = ? AND address = ?", channel, address) > 0;
  }
}

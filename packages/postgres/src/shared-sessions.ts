/** The sessions of one agent in PostgreSQL, seen by the embedded store of a host: it works on the files that mirror them. */
import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import type { OpenNotice } from "@pagurus/contract/session/writer";
import { ensurePrivateDir } from "@pagurus/core/platform/atomic-files";
import { readHeader } from "@pagurus/host/stores/files/index/indexer";
import { readKeyFile } from "@pagurus/host/stores/files/key-file";
import { liveOwner, SessionLock, type LockOwner } from "@pagurus/host/stores/files/lock";
import type {
  LeaseRequest,
  PublishedTranscript,
  SessionLease,
  SharedLog,
} from "@pagurus/host/stores/files/session-lease";
import { sessionPaths } from "@pagurus/host/stores/files/session-paths";
import type { Bridge } from "./bridge.ts";
import type { MirrorState } from "./mirror-state.ts";
import { ReceiptMirror } from "./receipt-mirror.ts";
import { SharedLease } from "./shared-lease.ts";
import { PROCESS_ID } from "./process-id.ts";
import { nameOf, type Acquired, type Ahead, type Holder, type SharedSession } from "./shared-rows.ts";
import { defined } from "@pagurus/core/data/defined";

/** Pause between two tries to get a lease that another host has, ms. */
const RETRY_MS = 50;
/** How long a process waits for another one of this host that brings the same mirror up to date, ms. */
const MIRROR_WAIT_MS = 60_000;

export interface SharedSessionsOptions {
  bridge: Bridge;
  agent: string;
  mirrors: MirrorState;
  now: () => number;
  /** Removes what the host has of a deleted session elsewhere. */
  onRemoved(sessionId: string): void;
  /** Removes the files of sessions that another host deleted, and their words in the index. */
  onForgotten(sessionIds: readonly string[]): void;
}

type Won = Acquired & { state: "won" };

/** What one statement found out for the writer that is being opened. */
interface Opening {
  key: string;
  hold: Ahead["hold"];
  /** Whether `hold` was used already. */
  isAsked: boolean;
  /** The lease was taken in the same statement: a program that begins to hold the key sees it. */
  isSure: boolean;
  /** A lease that is not used yet, and the nonce of its holder. */
  ahead: (Won & { lane: string }) | undefined;
}

export class SharedSessions implements SharedLog {
  readonly #bridge: Bridge;
  readonly #agent: string;
  readonly #now: () => number;
  readonly #onRemoved: (sessionId: string) => void;
  readonly #onForgotten: (sessionIds: readonly string[]) => void;
  readonly #mirrors: MirrorState;
  readonly receipts: ReceiptMirror;
  /** Leases that this host has, by session. */
  readonly #lanes = new Map<string, string>();
  #horizon: string | undefined;
  #opening: Opening | undefined;
  /** What was repaired since a session was last opened for writing. */
  readonly #repaired = new Map<string, OpenNotice[]>();

  constructor({ bridge, agent, mirrors, now, onRemoved, onForgotten }: SharedSessionsOptions) {
    this.#onRemoved = onRemoved;
    this.#onForgotten = onForgotten;
    this.#bridge = bridge;
    this.#agent = agent;
    this.#now = now;
    this.#mirrors = mirrors;
    this.receipts = new ReceiptMirror({ bridge, agent, mirrors });
  }

  lease(lock: SessionLock, request: LeaseRequest): SessionLease {
    const { sessionId, sessionKey, deadlineMs } = request;
    const giveUpAt = performance.now() + deadlineMs;
    const ahead = this.#takeAhead(sessionId);
    if (ahead && ahead.epoch >= lock.epoch) return this.#won(lock, request, ahead);
    // A transcript of a later epoch than the database knows, which was restored.
    if (ahead) this.#giveBack(ahead.lane);
    if (this.#opening) this.#opening.isSure = false;
    const holder = this.#holder();
    const agent = this.#agent;
    for (;;) {
      const got = this.#bridge.call("acquire", { agent, sessionId, floor: lock.epoch - 1, holder });
      if (got.state === "won") return this.#won(lock, request, { ...got, lane: holder.nonce });
      if (got.state === "absent") return this.#coming(lock, request, holder);
      if (performance.now() >= giveUpAt) throw heldElsewhere(sessionKey, got.holder);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }

  publish({ sessionId, file, keyFile, replaces }: PublishedTranscript): void {
    const header = readHeader(file);
    const named = readKeyFile(keyFile);
    const key = named?.key ?? header?.key;
    if (key === undefined)
      throw new PagurusError("internal", `The transcript of ${sessionId} names no key, so it is not stored.`);
    const generation = named?.order?.generation ?? header?.generation ?? 0;
    const made = this.#bridge.call("publish", {
      agent: this.#agent,
      mirror: this.#mirrors.id,
      sessionId,
      file,
      key,
      generation,
      precedence: named?.order?.precedence ?? header?.precedence ?? generation,
      folder: header?.folder ?? null,
      replaces,
      lane: this.#lanes.get(sessionId),
      nonce: randomUUID(),
    });
    this.#mirrors.note(sessionId, made);
  }

  remove(sessionIds: readonly string[]): void {
    const lanes = sessionIds.map((id) => this.#lanes.get(id) ?? "");
    this.#bridge.call("remove", { agent: this.#agent, lanes });
    for (const id of sessionIds) this.#onRemoved(id);
  }

  hold(key: string, folder: string | undefined): { release(): void } | undefined {
    const holder = this.#holder();
    const request = { agent: this.#agent, key, folder: folder ?? null, holder };
    if (!this.#bridge.call("hold", request)) return undefined;
    return { release: () => this.#letGo(holder.nonce) };
  }

  holderOf(key: string): LockOwner | undefined {
    const found = this.#holdOf(key);
    // A program of this host has a lock file while it lives.
    if (!found || found.holder.mirror === this.#mirrors.id) return undefined;
    const { host, pid, since } = found.holder;
    return { host, pid, epoch: 0, acquiredAt: since, ...defined({ folder: found.folder ?? undefined }) };
  }

  #holdOf(key: string): Ahead["hold"] {
    const opening = this.#opening;
    if (opening?.key !== key || (opening.isAsked && !opening.isSure))
      return this.#bridge.call("holderOf", { agent: this.#agent, key });
    opening.isAsked = true;
    return opening.hold;
  }

  runningIn(sessionId: string): { pid: number; since: string } | undefined {
    const holder = this.writerOf(sessionId);
    return holder && { pid: holder.pid, since: holder.since };
  }

  /** The live writer of a session on another host. Throws `store_read_failed`. */
  writerOf(sessionId: string): Holder | undefined {
    const holder = this.#bridge.call("holder", { agent: this.#agent, sessionId });
    // A writer of this mirror has a lock file while it lives.
    return holder && holder.mirror !== this.#mirrors.id ? holder : undefined;
  }

  /** Whether local bytes were set aside that no writer has reported yet. */
  isRepaired(sessionId: string): boolean {
    return this.#repaired.has(sessionId);
  }

  /**
   * Runs what opens a writer of a key, with the ids of `refreshKey`. Most often the key's sessions, its holder and the lease take one question
   * together. `known`: local sessions of the key, the current one first.
   */
  opening<T>(key: string, known: readonly string[], work: (changed: string[]) => T): T {
    const holder = this.#holder();
    const request = { agent: this.#agent, key, sessionId: known[0] ?? null, holder };
    const { sessions, hold, won } = this.#bridge.call("acquireAhead", request);
    const ahead = won ? { ...won, lane: holder.nonce } : undefined;
    const opening = (this.#opening = { key, hold, isAsked: false, isSure: won !== null, ahead });
    try {
      return work(this.#bringUp(sessions, known));
    } finally {
      this.#opening = undefined;
      if (opening.ahead) this.#giveBack(holder.nonce);
    }
  }

  #takeAhead(sessionId: string): (Won & { lane: string }) | undefined {
    const opening = this.#opening;
    const ahead = opening?.ahead;
    if (!opening || ahead?.session.sessionId !== sessionId) return undefined;
    opening.ahead = undefined;
    return ahead;
  }

  /** Brings the mirrors of a key's sessions up to date; returns the ids of those that changed, and of those that are gone. */
  refreshKey(key: string, known: readonly string[]): string[] {
    return this.#bringUp(this.#bridge.call("lookAtKey", { agent: this.#agent, key }), known);
  }

  /**
   * Brings the mirrors of the sessions that have the words of a query up to date; returns their ids, and those that changed. `limit`: sessions
   * at most.
   */
  searched(
    query: string,
    scope: { limit: number; sessions: readonly string[] | undefined },
  ): { ids: string[]; changed: string[] } {
    const found = this.#bridge.call("search", { agent: this.#agent, query, ...scope });
    // What this process writes may still be on its way.
    const ids = new Set([...this.#lanes.keys(), ...found.map(({ sessionId }) => sessionId)]);
    return { ids: [...ids], changed: this.#bringUp(found, []) };
  }

  /** Whether a program of this host has the session open for writing. */
  isWrittenHere(sessionId: string): boolean {
    return liveOwner(sessionPaths(this.#mirrors.folder, sessionId).lock) !== undefined;
  }

  /** Of these sessions the ones that were deleted. Throws `store_read_failed`. */
  removed(ids: readonly string[]): string[] {
    return this.#bridge.call("removed", { agent: this.#agent, ids });
  }

  #bringUp(sessions: readonly SharedSession[], known: readonly string[]): string[] {
    const present = new Set(sessions.map(({ sessionId }) => sessionId));
    return [
      ...sessions.filter((session) => this.#refresh(session)).map(({ sessionId }) => sessionId),
      ...this.#forget(known.filter((id) => !present.has(id))),
    ];
  }

  /** The same for every session that changed since the last look. `known`: every local session. */
  refresh(known: () => readonly string[]): string[] {
    const since = this.#horizon;
    const agent = this.#agent;
    const { sessions, removed, horizon } = this.#bridge.call(
      "look",
      since === undefined ? { agent } : { agent, since },
    );
    if (since !== undefined && BigInt(horizon) < BigInt(since)) {
      // Another server, restored from a backup, counts its transactions from another start: everything is looked at.
      this.#horizon = undefined;
      return this.refresh(known);
    }
    const present = new Set(sessions.map(({ sessionId }) => sessionId));
    const gone = since === undefined ? known().filter((id) => !present.has(id)) : removed;
    const changed = [
      ...sessions.filter((session) => this.#refresh(session)).map(({ sessionId }) => sessionId),
      ...this.#forget(gone.filter((id) => !present.has(id))),
    ];
    this.#horizon = horizon;
    return changed;
  }

  /** Whether the mirror was changed. That of a session which a process of this host writes to is that process's work. */
  #refresh(session: SharedSession): boolean {
    const { sessionId } = session;
    const { lock } = sessionPaths(this.#mirrors.folder, sessionId);
    const isSame = this.#isSame(session);
    if ((isSame && this.receipts.isSame(session)) || liveOwner(lock)) return false;
    return this.#mirroring(sessionId, () => {
      if (liveOwner(lock)) return false;
      this.#catchUp(session);
      this.receipts.catchUp(session);
      return !isSame;
    });
  }

  #isSame({ sessionId, bytes, revision }: SharedSession): boolean {
    const mark = this.#mirrors.mark(sessionId);
    if (mark.bytes !== bytes || mark.revision !== revision) return false;
    const { transcript } = sessionPaths(this.#mirrors.folder, sessionId);
    return statSync(transcript, { throwIfNoEntry: false })?.size === bytes;
  }

  #catchUp(session: SharedSession): void {
    if (this.#isSame(session)) return;
    const { sessionId } = session;
    const { transcript: file } = sessionPaths(this.#mirrors.folder, sessionId);
    const unsent = this.#mirrors.unsent(sessionId);
    const confirmed = this.#mirrors.mark(sessionId).bytes;
    const request = { agent: this.#agent, sessionId, file, unsent, confirmed };
    const made = this.#bridge.call("mirror", { ...request, stream: "transcript" });
    if (!made) throw gone(session.key, sessionId);
    this.#mirrors.noteKey(session);
    this.#mirrors.note(sessionId, made);
    if (made.setAside === 0) return;
    const detail = `${made.setAside} bytes of the transcript had not reached the database when their writer ended; they were moved to ${unsent}.`;
    this.#repaired.set(sessionId, [{ kind: "torn_line", detail }]);
  }

  #won(lock: SessionLock, request: LeaseRequest, got: Won & { lane: string }): SessionLease {
    const { sessionId } = request;
    const { epoch, takenFrom, session, lane } = got;
    try {
      if (!this.#isSame(session) || !this.receipts.isSame(session))
        this.#mirroring(sessionId, () => {
          this.#catchUp(session);
          this.receipts.catchUp(session);
        });
      const notices = this.#repaired.get(sessionId) ?? [];
      this.#repaired.delete(sessionId);
      // A writer of this host that ended is named by its lock file.
      const isForeign = takenFrom !== null && takenFrom.mirror !== this.#mirrors.id;
      const former = isForeign ? nameOf(takenFrom) : lock.takenFrom;
      return this.#leaseOf(lock, sessionId, { lane, epoch, takenFrom: former, notices });
    } catch (error) {
      this.#giveBack(lane);
      throw error;
    }
  }

  /** A session that is made next, under the lease. */
  #coming(lock: SessionLock, { sessionId, sessionKey }: LeaseRequest, holder: Holder): SessionLease {
    if (this.#mirrors.isMirrored(sessionId)) throw gone(sessionKey, sessionId);
    const { epoch } = lock;
    this.#bridge.call("expect", { epoch, holder });
    return this.#leaseOf(lock, sessionId, {
      lane: holder.nonce,
      epoch,
      takenFrom: lock.takenFrom,
      notices: [],
    });
  }

  #leaseOf(
    lock: SessionLock,
    sessionId: string,
    facts: { lane: string; epoch: number; takenFrom: string | undefined; notices: readonly OpenNotice[] },
  ): SessionLease {
    this.#lanes.set(sessionId, facts.lane);
    this.receipts.begin(sessionId, facts.epoch);
    const onReleased = (bytes: number | undefined): void => {
      if (this.#lanes.get(sessionId) === facts.lane) this.#lanes.delete(sessionId);
      if (bytes === undefined || !existsSync(sessionPaths(this.#mirrors.folder, sessionId).transcript))
        return;
      this.receipts.released(sessionId);
      const { revision } = this.#mirrors.mark(sessionId);
      this.#mirrors.note(sessionId, { bytes, revision });
    };
    const bridge = this.#bridge;
    return new SharedLease({ bridge, lock, ...facts, onReleased });
  }

  #letGo(nonce: string): void {
    try {
      this.#bridge.call("letGo", { nonce });
    } catch {
      // It runs out by itself.
      return;
    }
  }

  #giveBack(lane: string): void {
    try {
      this.#bridge.call("release", { lane });
    } catch {
      // It runs out by itself; the first error is the one to report.
      return;
    }
  }

  /** One process of this host at a time changes a mirror that has no writer. */
  #mirroring<T>(sessionId: string, work: () => T): T {
    ensurePrivateDir(this.#mirrors.folder);
    const lock = SessionLock.acquire({
      file: join(this.#mirrors.folder, `.${sessionId}.mirror.lock`),
      sessionKey: sessionId,
      epoch: 0,
      deadlineMs: MIRROR_WAIT_MS,
      now: this.#now,
    });
    try {
      return work();
    } finally {
      lock.release();
    }
  }

  /** Removes mirrors of sessions that were deleted; returns their ids. One that is open for writing here is its writer's work. */
  #forget(sessionIds: readonly string[]): string[] {
    const gone = sessionIds.filter(
      (id) => this.#mirrors.isMirrored(id) && !liveOwner(sessionPaths(this.#mirrors.folder, id).lock),
    );
    if (gone.length > 0) this.#onForgotten(gone);
    for (const id of gone) {
      this.#mirrors.remove(id);
      this.#onRemoved(id);
    }
    return gone;
  }

  #holder(): Holder {
    const since = new Date(this.#now()).toISOString();
    const mirror = this.#mirrors.id;
    const nonce = randomUUID();
    return { host: hostname(), pid: process.pid, process: PROCESS_ID, since, mirror, nonce };
  }
}

/** Another host writes to the session. */
export function heldElsewhere(sessionKey: string, holder: Holder): PagurusError {
  const { pid, host, since } = holder;
  return new PagurusError(
    "session_locked",
    `The session ${sessionKey} is being written by ${nameOf(holder)}; wait for it, or end it, and try again.`,
    { details: { sessionKey, pid, host, since } },
  );
}

function gone(sessionKey: string, sessionId: string): PagurusError {
  return new PagurusError(
    "session_not_found",
    `The session ${sessionKey} was deleted on another host; \`pagurus sessions list\` shows the keys.`,
    { details: { sessionKey, sessionId } },
  );
}

/** The sessions of one agent in PostgreSQL, seen by the embedded store of a host: it works on the files that mirror them. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { PagurusError } from "../../contract/errors.ts";
import type { OpenNotice } from "../../contract/session/writer.ts";
import { ensurePrivateDir } from "../../platform/atomic-files.ts";
import { writeFailure } from "../../session/failures.ts";
import { readHeader } from "../../session/index/indexer.ts";
import { readKeyFile } from "../../session/key-file.ts";
import { liveOwner, SessionLock, type LockOwner } from "../../session/lock.ts";
import type {
  LeaseRequest,
  PublishedTranscript,
  SessionLease,
  SharedLog,
} from "../../session/session-lease.ts";
import { sessionPaths } from "../../session/session-paths.ts";
import type { Bridge } from "./bridge.ts";
import { MirrorState } from "./mirror-state.ts";
import { SharedLease } from "./shared-lease.ts";
import { nameOf, type Acquired, type Holder, type SharedSession } from "./shared-rows.ts";

/** Pause between two tries to get a lease that another host has, ms. */
const RETRY_MS = 50;
/** How long a process waits for another one of this host that brings the same mirror up to date, ms. */
const MIRROR_WAIT_MS = 60_000;

export interface SharedSessionsOptions {
  bridge: Bridge;
  agent: string;
  /** Folder of the mirrors. */
  folder: string;
  now: () => number;
}

export class SharedSessions implements SharedLog {
  readonly #bridge: Bridge;
  readonly #agent: string;
  readonly #now: () => number;
  readonly #mirrors: MirrorState;
  /** Leases that this host has, by session. */
  readonly #lanes = new Map<string, string>();
  #mirrorId: string | undefined;
  #horizon: string | undefined;
  /** What was repaired since a session was last opened for writing. */
  readonly #repaired = new Map<string, OpenNotice[]>();

  constructor({ bridge, agent, folder, now }: SharedSessionsOptions) {
    this.#bridge = bridge;
    this.#agent = agent;
    this.#now = now;
    this.#mirrors = new MirrorState(folder);
  }

  lease(lock: SessionLock, request: LeaseRequest): SessionLease {
    const { sessionId, sessionKey, deadlineMs } = request;
    const giveUpAt = performance.now() + deadlineMs;
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
  }

  hold(key: string, folder: string | undefined): { release(): void } | undefined {
    const holder = this.#holder();
    const request = { agent: this.#agent, key, folder: folder ?? null, holder };
    if (!this.#bridge.call("hold", request)) return undefined;
    return { release: () => this.#letGo(holder.nonce) };
  }

  holderOf(key: string): LockOwner | undefined {
    const found = this.#bridge.call("holderOf", { agent: this.#agent, key });
    // A program of this host has a lock file while it lives.
    if (!found || found.holder.mirror === this.#holder().mirror) return undefined;
    const { host, pid, since } = found.holder;
    return {
      host,
      pid,
      epoch: 0,
      acquiredAt: since,
      ...(found.folder === null ? {} : { folder: found.folder }),
    };
  }

  runningIn(sessionId: string): { pid: number; since: string } | undefined {
    const holder = this.writerOf(sessionId);
    return holder && { pid: holder.pid, since: holder.since };
  }

  /** The live writer of a session on another host. Throws `store_read_failed`. */
  writerOf(sessionId: string): Holder | undefined {
    const holder = this.#bridge.call("holder", { agent: this.#agent, sessionId });
    // A writer of this mirror has a lock file while it lives.
    return holder && holder.mirror !== this.#holder().mirror ? holder : undefined;
  }

  /** Whether local bytes were set aside that no writer has reported yet. */
  isRepaired(sessionId: string): boolean {
    return this.#repaired.has(sessionId);
  }

  /** Brings the mirrors of a key's sessions up to date; returns the ids of those that changed, and of those that are gone. */
  refreshKey(key: string, known: readonly string[]): string[] {
    const { sessions } = this.#bridge.call("look", { agent: this.#agent, key });
    const present = new Set(sessions.map(({ sessionId }) => sessionId));
    return [
      ...sessions.filter((session) => this.#refresh(session)).map(({ sessionId }) => sessionId),
      ...known.filter((id) => !present.has(id) && this.#forget(id)),
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
      ...gone.filter((id) => !present.has(id) && this.#forget(id)),
    ];
    this.#horizon = horizon;
    return changed;
  }

  /** Whether the mirror was changed. That of a session which a process of this host writes to is that process's work. */
  #refresh(session: SharedSession): boolean {
    const { sessionId, bytes, revision } = session;
    const mark = this.#mirrors.mark(sessionId);
    const paths = sessionPaths(this.#mirrors.folder, sessionId);
    const isSame = (): boolean => statSync(paths.transcript, { throwIfNoEntry: false })?.size === bytes;
    if (mark.bytes === bytes && mark.revision === revision && isSame()) return false;
    if (liveOwner(paths.lock)) return false;
    return this.#mirroring(sessionId, () => {
      if (liveOwner(paths.lock)) return false;
      this.#catchUp(session);
      return true;
    });
  }

  #catchUp(session: SharedSession): void {
    const { sessionId, revision } = session;
    const { transcript } = sessionPaths(this.#mirrors.folder, sessionId);
    const mark = this.#mirrors.mark(sessionId);
    const unsent = this.#mirrors.unsent(sessionId);
    const size = statSync(transcript, { throwIfNoEntry: false })?.size;
    if (size === session.bytes && mark.bytes === size && mark.revision === revision) return;
    const request = { agent: this.#agent, sessionId, file: transcript, unsent, confirmed: mark.bytes };
    const made = this.#bridge.call("mirror", request);
    if (!made) throw gone(session.key, sessionId);
    this.#mirrors.noteKey(session);
    this.#mirrors.note(sessionId, made);
    if (made.setAside === 0) return;
    const detail = `${made.setAside} bytes of the transcript had not reached the database when their writer ended; they were moved to ${unsent}.`;
    this.#repaired.set(sessionId, [{ kind: "torn_line", detail }]);
  }

  #won(
    lock: SessionLock,
    request: LeaseRequest,
    got: Acquired & { state: "won" } & { lane: string },
  ): SessionLease {
    const { sessionId } = request;
    const { epoch, takenFrom, session, lane } = got;
    try {
      this.#mirroring(sessionId, () => this.#catchUp(session));
      const notices = this.#repaired.get(sessionId) ?? [];
      this.#repaired.delete(sessionId);
      // A writer of this host that ended is named by its lock file.
      const isForeign = takenFrom !== null && takenFrom.mirror !== this.#holder().mirror;
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
    const onReleased = (bytes: number | undefined): void => {
      if (this.#lanes.get(sessionId) === facts.lane) this.#lanes.delete(sessionId);
      if (bytes === undefined || !existsSync(sessionPaths(this.#mirrors.folder, sessionId).transcript))
        return;
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

  #forget(sessionId: string): boolean {
    if (!this.#mirrors.isMirrored(sessionId)) return false;
    if (liveOwner(sessionPaths(this.#mirrors.folder, sessionId).lock)) return false;
    this.#mirrors.remove(sessionId);
    return true;
  }

  #holder(): Holder {
    const mirror = (this.#mirrorId ??= this.#readMirrorId());
    const since = new Date(this.#now()).toISOString();
    return { host: hostname(), pid: process.pid, since, mirror, nonce: randomUUID() };
  }

  /** Identifies the folder of mirrors; a copy of it on another host is another one. */
  #readMirrorId(): string {
    const { folder } = this.#mirrors;
    const file = join(folder, ".mirror-id");
    try {
      ensurePrivateDir(folder);
      if (!existsSync(file)) writeFileSync(file, randomUUID(), { flag: "wx", mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw writeFailure(error, file);
    }
    return `${hostname()} ${readFileSync(file, "utf8")}`;
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

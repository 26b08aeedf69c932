import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type {
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionResponse,
  McpServer,
  NewSessionResponse,
  SessionInfo,
} from "@agentclientprotocol/sdk";
import type { SessionClaim } from "@pagurus/contract/session/claim";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AskPermission } from "@pagurus/contract/host/run";
import type { SessionStore } from "@pagurus/contract/session/store";
import { parseJson } from "@pagurus/core/data/record-fields";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { workspaceOf } from "@pagurus/host/turn/agent/session-key";
import { invalid, notOpen, unknownSession } from "./acp-errors.ts";
import { checkServers } from "./client-mcp-servers.ts";
import { firstWords } from "./history-replay.ts";
import { AcpSession, type Setting } from "./acp-session.ts";

/** Where a session runs, as the client states it. */
export interface SessionPlace {
  cwd: string;
  mcpServers?: readonly McpServer[];
  additionalDirectories?: readonly string[];
}

const PAGE = 50;
/** Keys that this module creates. */
const OWN_KEY = /^acp:[0-9a-z]{16}$/;
/** How long an empty session is kept: a client may return to it in another process. */
const EMPTY_FOR_MS = 24 * 60 * 60_000;
/** How the key of a subagent ends; its parent's key is the part before it. */
const CHILD = /\/sub-\d+$/;

/** The sessions of a connection: those of the agent's store, some of them open. */
export class AcpSessions {
  readonly #setting: Setting;
  readonly #open = new Map<string, AcpSession>();
  readonly #claims = new Map<string, SessionClaim>();
  /** Conversation that the first new session continues. */
  #firstKey: string | undefined;
  #swept = false;
  #ended = false;
  /** Queues of open and close operations, one for each session. */
  readonly #lines = new Map<string, Promise<void>>();

  constructor(setting: Setting, firstKey: string | undefined) {
    this.#setting = setting;
    this.#firstKey = firstKey;
  }

  /** Throws `session_not_found` for a session that is not open here. */
  get(sessionId: string): AcpSession {
    const session = this.#open.get(sessionId);
    if (session) return session;
    throw notOpen(sessionId);
  }

  async create(place: SessionPlace): Promise<NewSessionResponse> {
    const cwd = folderOf(place);
    await this.#sweep();
    const named = this.#firstKey;
    this.#firstKey = undefined;
    try {
      const store = this.#store();
      const sessionId = store.reserveId();
      const known = named !== undefined && store.find(named) !== undefined;
      const key = known ? named : (named ?? `acp:${sessionId}`);
      if (!known)
        store.create(key, { cwd, sessionId, ...(named === undefined ? { folder: workspaceOf(cwd) } : {}) });
      return await this.#alone(key, () => this.#enter(key, { ...place, cwd }));
    } catch (error) {
      // The next new session is the first one then.
      this.#firstKey ??= named;
      throw error;
    }
  }

  /** Opens a session and sends the whole conversation. If it cannot be read, it is not left open, unless it was open before. */
  load(sessionId: string, place: SessionPlace): Promise<LoadSessionResponse> {
    return this.#alone(sessionId, async () => {
      const before = this.#open.get(sessionId);
      const { modes, configOptions } = await this.#reenter(sessionId, place);
      const session = this.get(sessionId);
      try {
        await session.replay();
      } catch (error) {
        if (session !== before) await this.#leave(session);
        throw error;
      }
      return { modes: modes ?? null, configOptions: configOptions ?? null };
    });
  }

  /** Opens a session without sending the conversation. One that is already open stays as it is. */
  resume(sessionId: string, place: SessionPlace): Promise<LoadSessionResponse> {
    return this.#alone(sessionId, async () => {
      const { sessionId: _id, ...state } = await this.#reenter(sessionId, place);
      return state;
    });
  }

  /** Copies the session under a new key. */
  async fork(sessionId: string, place: SessionPlace): Promise<NewSessionResponse> {
    const cwd = folderOf(place);
    this.#existing(sessionId);
    const store = this.#store();
    const id = store.reserveId();
    const hold = store.hold(`acp:${id}`, workspaceOf(cwd));
    try {
      await store.fork(sessionId, hold.sessionKey, { sessionId: id });
    } finally {
      hold.release();
    }
    return this.#enter(hold.sessionKey, { ...place, cwd });
  }

  /** Lists the sessions, newest first, without subagents and empty conversations. */
  async list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const after = cursor === undefined || cursor === null ? undefined : readCursor(cursor);
    const records = this.#store()
      .list()
      .filter((record) => record.current && record.entryCount > 0 && !CHILD.test(record.sessionKey))
      .filter((record) => cwd === undefined || cwd === null || record.cwd === resolve("/", cwd))
      .filter((record) => after === undefined || compare(record, after) > 0)
      .toSorted(compare);
    const page = records.slice(0, PAGE);
    const last = page.at(-1);
    const sessions = [];
    for (const record of page) sessions.push(await this.#info(record));
    return { sessions, ...(last && records.length > PAGE ? { nextCursor: writeCursor(last) } : {}) };
  }

  /** Ends what runs in the session; the conversation stays. */
  close(sessionId: string): Promise<void> {
    return this.#alone(sessionId, () => this.#leave(this.get(sessionId)));
  }

  delete(sessionId: string): Promise<void> {
    return this.#alone(sessionId, async () => {
      this.#existing(sessionId);
      const open = this.#open.get(sessionId);
      if (open) await this.#leave(open);
      const { pagurus, agentId } = this.#setting;
      await pagurus.deleteSession({ sessionKey: sessionId, agentId });
    });
  }

  /** Cancels everything and refuses to open sessions from then on; resolves when nothing runs any more. */
  async end(): Promise<void> {
    this.#ended = true;
    const leaveAll = () =>
      Promise.allSettled([...this.#open.values()].map((session) => this.#leave(session)));
    await leaveAll();
    await Promise.all(this.#lines.values());
    // Also a session that was just being opened.
    await leaveAll();
  }

  readonly ask: AskPermission = (question) =>
    this.#sessionOf(question.sessionKey)?.ask(question) ?? Promise.resolve("deny");

  /** Whether the session, or the parent of a subagent's, is open here. */
  runs(sessionKey: string | undefined): boolean {
    return this.#sessionOf(sessionKey) !== undefined;
  }

  #sessionOf(sessionKey = ""): AcpSession | undefined {
    // A subagent's question belongs to its parent.
    for (let key = sessionKey; key !== ""; key = CHILD.test(key) ? key.replace(CHILD, "") : "") {
      const session = this.#open.get(key);
      if (session) return session;
    }
    return undefined;
  }

  /** Deletes old empty sessions, which editors open and never use. */
  async #sweep(): Promise<void> {
    if (this.#swept) return;
    this.#swept = true;
    const { pagurus, agentId, logger } = this.#setting;
    const before = new Date(Date.now() - EMPTY_FOR_MS).toISOString();
    const empty = this.#store()
      .list()
      .filter(({ entryCount, generation, updatedAt }) => {
        return entryCount === 0 && generation === 1 && updatedAt < before;
      })
      .filter(({ sessionKey }) => OWN_KEY.test(sessionKey) && !this.#open.has(sessionKey));
    for (const { sessionKey } of empty) {
      try {
        await pagurus.deleteSession({ sessionKey, agentId });
      } catch (error) {
        // Another process has it open; retried at the next sweep.
        logger.info("empty session kept", { sessionKey, code: toPagurusError(error).code });
      }
    }
  }

  #store(): SessionStore {
    return this.#setting.pagurus.sessions(this.#setting.agentId);
  }

  #existing(sessionId: string): SessionRecord {
    const record = this.#store().find(sessionId);
    if (record) return record;
    throw unknownSession(sessionId, "of this agent; session/list lists those that exist.");
  }

  #alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#lines.get(key) ?? Promise.resolve()).then(work);
    const settled = (): void => {
      if (this.#lines.get(key) === line) this.#lines.delete(key);
    };
    const line = done.then(settled, settled);
    this.#lines.set(key, line);
    return done;
  }

  async #leave(session: AcpSession): Promise<void> {
    await session.close();
    if (this.#open.get(session.id) !== session) return;
    this.#open.delete(session.id);
    this.#claims.get(session.id)?.release();
    this.#claims.delete(session.id);
  }

  /** Opens a session that has to exist. */
  #reenter(sessionId: string, place: SessionPlace): Promise<NewSessionResponse> {
    this.#existing(sessionId);
    return this.#enter(sessionId, { ...place, cwd: folderOf(place) });
  }

  async #enter(key: string, place: SessionPlace): Promise<NewSessionResponse> {
    if (this.#ended) throw new PagurusError("turn_aborted", "The connection is closed; open another one.");
    const known = this.#open.get(key);
    if (known && known.cwd === place.cwd) {
      known.useServers(place.mcpServers ?? []);
      return { sessionId: key, ...known.state() };
    }
    if (known) await this.#leave(known);
    const { pagurus, agentId } = this.#setting;
    // While the session is open in the editor, no other client may use it.
    const claim = await pagurus.claim({ sessionKey: key, agentId, cwd: place.cwd });
    const { session, concerns } = await this.#opened(key, place.cwd, claim);
    session.useServers(place.mcpServers ?? []);
    this.#open.set(key, session);
    this.#claims.set(key, claim);
    // The client knows the session only once it has the answer.
    setImmediate(() => void session.announce([...concerns, ...notTaken(place)]));
    return { sessionId: key, ...session.state() };
  }

  async #opened(key: string, cwd: string, claim: SessionClaim): ReturnType<typeof AcpSession.open> {
    try {
      return await AcpSession.open(this.#setting, { key, cwd });
    } catch (error) {
      claim.release();
      throw error;
    }
  }

  async #info(record: SessionRecord): Promise<SessionInfo> {
    const { sessionKey: sessionId, cwd, updatedAt } = record;
    const title = record.name ?? (await this.#began(sessionId)) ?? sessionId;
    return { sessionId, cwd, title, updatedAt };
  }

  /**
   * Text of the first message. Undefined also if the session cannot be read or is gone: one session must not break the list of the
   * others.
   */
  async #began(sessionKey: string): Promise<string | undefined> {
    try {
      const reader = this.#store().openReader(sessionKey);
      try {
        return await firstWords(reader.cursor);
      } finally {
        reader.close();
      }
    } catch (error) {
      this.#setting.logger.info("session cannot be read", {
        sessionKey,
        code: toPagurusError(error).code,
      });
      return undefined;
    }
  }
}

/** Warnings about client settings that the host does not support, one sentence each. */
function notTaken({ additionalDirectories = [] }: SessionPlace): string[] {
  if (additionalDirectories.length === 0) return [];
  return ["Additional folders are not supported; the session works in its own folder."];
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    // An invalid path for the system: too long, a symlink loop, or with a zero byte.
    return false;
  }
}

/** Throws `usage_invalid`, also for MCP servers that are too many or too long, before anything is stored. */
function folderOf({ cwd, mcpServers = [] }: SessionPlace): string {
  checkServers(mcpServers);
  return folder(cwd);
}

/** The canonical path of the folder. Throws `usage_invalid` if there is no such folder. */
function folder(cwd: string): string {
  if (isAbsolute(cwd) && isFolder(cwd)) return resolve(cwd);
  throw invalid(
    `The folder "${cwd.slice(0, 200)}" does not exist; give the absolute path of an existing one.`,
  );
}

type Place = Pick<SessionRecord, "updatedAt" | "sessionKey">;

function compare(a: Place, b: Place): number {
  if (a.updatedAt !== b.updatedAt) return a.updatedAt < b.updatedAt ? 1 : -1;
  return a.sessionKey < b.sessionKey ? -1 : a.sessionKey > b.sessionKey ? 1 : 0;
}

function writeCursor({ updatedAt, sessionKey }: Place): string {
  return Buffer.from(JSON.stringify([updatedAt, sessionKey])).toString("base64url");
}

function readCursor(cursor: string): Place {
  const value = parseJson(Buffer.from(cursor, "base64url").toString("utf8"));
  if (Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "string")
    return { updatedAt: value[0], sessionKey: value[1] };
  throw invalid("The cursor is invalid; list the sessions again without one.");
}

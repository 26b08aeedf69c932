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
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { AskPermission } from "../../contract/run.ts";
import type { SessionStore } from "../../contract/store.ts";
import type { SessionRecord } from "../../contract/writer.ts";
import { invalid, notOpen, unknownSession } from "./errors.ts";
import { firstWords } from "./replay.ts";
import { AcpSession, type Setting } from "./session.ts";

/** What the client says about the place of a session. */
export interface SessionPlace {
  cwd: string;
  mcpServers?: readonly McpServer[];
  additionalDirectories?: readonly string[];
}

const PAGE = 50;
/** Keys that are made here. */
const OWN_KEY = /^acp:[0-9a-z]{16}$/;
/** How long a session that stays empty is kept: a client may come back to it in another process. */
const EMPTY_FOR_MS = 24 * 60 * 60_000;
/** How the key of a subagent ends; it is behind its parent's. */
const CHILD = /\/sub-\d+$/;

/** The sessions of a connection: those of the agent's store, of which some are open. */
export class AcpSessions {
  readonly #setting: Setting;
  readonly #open = new Map<string, AcpSession>();
  /** Conversation that the first new session goes on with. */
  #firstKey: string | undefined;
  #swept = false;
  #ended = false;
  /** What opens and closes a session: one after the other for each. */
  readonly #lines = new Map<string, Promise<void>>();

  constructor(setting: Setting, firstKey: string | undefined) {
    this.#setting = setting;
    this.#firstKey = firstKey;
  }

  /** Throws `session_not_found` for one that is not open here. */
  get(sessionId: string): AcpSession {
    const session = this.#open.get(sessionId);
    if (session) return session;
    throw notOpen(sessionId);
  }

  async create(place: SessionPlace): Promise<NewSessionResponse> {
    const cwd = folder(place.cwd);
    await this.#sweep();
    const named = this.#firstKey;
    this.#firstKey = undefined;
    try {
      const store = this.#store();
      const sessionId = store.reserveId();
      const known = named !== undefined && store.find(named) !== undefined;
      const key = known ? named : (named ?? `acp:${sessionId}`);
      if (!known) store.create(key, { cwd, sessionId });
      return await this.#alone(key, () => this.#enter(key, { ...place, cwd }));
    } catch (error) {
      // The next one is the first then.
      this.#firstKey ??= named;
      throw error;
    }
  }

  /** With the whole conversation. One that cannot be read is not open afterwards, unless it was before. */
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

  /** Without it. One that is open already stays as it is. */
  resume(sessionId: string, place: SessionPlace): Promise<LoadSessionResponse> {
    return this.#alone(sessionId, async () => {
      const { sessionId: _id, ...state } = await this.#reenter(sessionId, place);
      return state;
    });
  }

  /** A copy under a key of its own. */
  async fork(sessionId: string, place: SessionPlace): Promise<NewSessionResponse> {
    const cwd = folder(place.cwd);
    this.#existing(sessionId);
    const store = this.#store();
    const id = store.reserveId();
    return this.#enter(store.fork(sessionId, `acp:${id}`, { sessionId: id }).sessionKey, { ...place, cwd });
  }

  /** Newest first; subagents and conversations in which nothing was said are left out. */
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

  /** Ends what runs in it; the conversation stays. */
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

  /** Cancels everything; resolves when nothing runs any more, and opens nothing from then on. */
  async end(): Promise<void> {
    this.#ended = true;
    const leaveAll = () =>
      Promise.allSettled([...this.#open.values()].map((session) => this.#leave(session)));
    await leaveAll();
    await Promise.all(this.#lines.values());
    // One that was just being opened.
    await leaveAll();
  }

  readonly ask: AskPermission = (question) => {
    // A subagent's question is its parent's.
    for (
      let key = question.sessionKey ?? "";
      key !== "";
      key = CHILD.test(key) ? key.replace(CHILD, "") : ""
    ) {
      const session = this.#open.get(key);
      if (session) return session.ask(question);
    }
    return Promise.resolve("deny");
  };

  /** An editor opens sessions in which nobody says anything. Those of earlier days go. */
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
        // Another process has it open: next time.
        logger.info("empty session stays", { sessionKey, code: toPagurusError(error).code });
      }
    }
  }

  #store(): SessionStore {
    return this.#setting.pagurus.sessions(this.#setting.agentId);
  }

  #existing(sessionId: string): SessionRecord {
    const record = this.#store().find(sessionId);
    if (record) return record;
    throw unknownSession(sessionId, "of this agent; session/list has those there are.");
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
    if (this.#open.get(session.id) === session) this.#open.delete(session.id);
  }

  /** Opens a session that has to be there. */
  #reenter(sessionId: string, place: SessionPlace): Promise<NewSessionResponse> {
    this.#existing(sessionId);
    return this.#enter(sessionId, { ...place, cwd: folder(place.cwd) });
  }

  async #enter(key: string, place: SessionPlace): Promise<NewSessionResponse> {
    if (this.#ended) throw new PagurusError("turn_aborted", "The connection is closed; open another one.");
    const known = this.#open.get(key);
    if (known && known.cwd === place.cwd) {
      known.useServers(place.mcpServers ?? []);
      return { sessionId: key, ...known.state() };
    }
    if (known) await this.#leave(known);
    const { session, concerns } = await AcpSession.open(this.#setting, { key, cwd: place.cwd });
    session.useServers(place.mcpServers ?? []);
    this.#open.set(key, session);
    // The client knows the session only once it has the answer.
    setImmediate(() => void session.announce([...concerns, ...notTaken(place)]));
    return { sessionId: key, ...session.state() };
  }

  async #info(record: SessionRecord): Promise<SessionInfo> {
    const { sessionKey: sessionId, cwd, updatedAt } = record;
    const title = record.name ?? (await this.#began(sessionId)) ?? sessionId;
    return { sessionId, cwd, title, updatedAt };
  }

  /** Undefined also where they cannot be read, or are gone by now: one session must not hide the others. */
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

/** What the client gives and the host has no place for, a sentence each. */
function notTaken({ additionalDirectories = [] }: SessionPlace): string[] {
  if (additionalDirectories.length === 0) return [];
  return ["Additional folders are not taken; the session works in its own folder."];
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    // A path that the system takes for none: too long, around in circles, with a zero byte.
    return false;
  }
}

/** The folder in one spelling. Throws `usage_invalid` for a path that is none. */
function folder(cwd: string): string {
  if (isAbsolute(cwd) && isFolder(cwd)) return resolve(cwd);
  throw invalid(`The folder "${cwd.slice(0, 200)}" is not there; give the absolute path of an existing one.`);
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
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "string")
      return { updatedAt: value[0], sessionKey: value[1] };
  } catch {
    // Falls through to the same sentence as a cursor of another shape.
  }
  throw invalid("The cursor is none of ours; list the sessions again without one.");
}

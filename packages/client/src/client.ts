/** The client of a Pagurus server: every route of `/api/v1` as a method. */
import type { ContextPreview } from "@pagurus/contract/host/host";
import type { Receipt } from "@pagurus/contract/session/receipt";
import type { SearchHit } from "@pagurus/contract/session/store";
import type { StatusReport, StatusRequest } from "@pagurus/contract/host/status";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type {
  Approval,
  ApprovalAnswer,
  Choices,
  Command,
  NewToken,
  ReceiptDiff,
  Scope,
  ServerEvent,
  ServerStatus,
  Session,
  SessionDetails,
  SlashAnswer,
  Token,
  Turn,
  Work,
} from "@pagurus/api/types";
import type { AgentOptions, PageOptions } from "./call-options.ts";
import { chunksOf, followEvents } from "./event-stream.ts";
import { HttpRequests, type CallOptions, type ClientOptions } from "./http-requests.ts";
import { InspectCalls } from "./inspect-calls.ts";
import { BoardCalls } from "./board-calls.ts";
import { JobCalls } from "./job-calls.ts";
import { TerminalCalls } from "./terminal-calls.ts";

export interface PostOptions extends AgentOptions {
  /** Default: a new one. A repeated post with the same key and body is the same work. */
  idempotencyKey?: string | undefined;
}
export interface FollowOptions extends AgentOptions {
  /** Id of the last event that the caller has; default: events from now on, and those of one work from its beginning. */
  after?: number | undefined;
  /** Id of the last event that is wanted, which the server has: the stream ends there. */
  until?: number | undefined;
}

/** Each method throws `ClientError`, or the reason of its signal. */
export class PagurusClient {
  readonly #http: HttpRequests;
  /** The calls that `pagurus --server` needs besides. */
  readonly terminal: TerminalCalls;
  readonly jobs: JobCalls;
  readonly board: BoardCalls;
  readonly inspect: InspectCalls;

  constructor(options: ClientOptions) {
    this.#http = new HttpRequests(options);
    this.terminal = new TerminalCalls(this.#http);
    this.jobs = new JobCalls(this.#http);
    this.board = new BoardCalls(this.#http);
    this.inspect = new InspectCalls(this.#http);
  }

  status({ signal }: CallOptions = {}): Promise<ServerStatus> {
    return this.#http.json({ method: "GET", path: "/status", signal });
  }

  /** Agents of the configuration, `main` first. */
  async agents({ signal }: CallOptions = {}): Promise<string[]> {
    return (await this.#http.json<{ agents: string[] }>({ method: "GET", path: "/agents", signal })).agents;
  }

  /** The OpenAPI 3.1 document. */
  openApi({ signal }: CallOptions = {}): Promise<Record<string, unknown>> {
    return this.#http.json({ method: "GET", path: "/openapi.json", signal });
  }

  /** A page of sessions, last used first; `next` continues it as `after`. */
  listSessions({ agent, limit, after, signal }: PageOptions & { after?: string | undefined } = {}): Promise<{
    sessions: Session[];
    next?: string;
  }> {
    return this.#http.json({ method: "GET", path: "/sessions", query: { agent, limit, after }, signal });
  }

  async search(
    words: string,
    { agent, limit, session, signal }: PageOptions & { session?: string | undefined } = {},
  ): Promise<SearchHit[]> {
    const query = { agent, limit, session, q: words };
    const { hits } = await this.#http.json<{ hits: SearchHit[] }>({
      method: "GET",
      path: "/search",
      query,
      signal,
    });
    return hits;
  }

  createSession(
    session: { key: string; agent?: string | undefined; cwd?: string | undefined },
    { signal }: CallOptions = {},
  ): Promise<Session> {
    return this.#http.json({ method: "POST", path: "/sessions", body: session, signal });
  }

  session(key: string, { agent, signal }: AgentOptions = {}): Promise<SessionDetails> {
    return this.#http.json({ method: "GET", path: at(key), query: { agent }, signal });
  }

  /** The newest entries of the active path, or those before one; oldest first. */
  async entries(
    key: string,
    { agent, limit, before, signal }: PageOptions & { before?: string | undefined } = {},
  ): Promise<TranscriptEntry[]> {
    const query = { agent, limit, before };
    const path = at(key, "/entries");
    return (await this.#http.json<{ entries: TranscriptEntry[] }>({ method: "GET", path, query, signal }))
      .entries;
  }

  fork(
    key: string,
    to: { key: string; entryId?: string | undefined },
    { agent, signal }: AgentOptions = {},
  ): Promise<Session> {
    return this.#http.json({ method: "POST", path: at(key, "/fork"), query: { agent }, body: to, signal });
  }

  /** Gives the session a name, in the list of sessions and in exports. */
  rename(key: string, name: string, { agent, signal }: AgentOptions = {}): Promise<Session> {
    const body = { name };
    return this.#http.json({ method: "POST", path: at(key, "/name"), query: { agent }, body, signal });
  }

  /** The choices that a person has for the next turns. */
  choices({
    agent,
    session,
    cwd,
    signal,
  }: AgentOptions & { session?: string | undefined; cwd?: string | undefined } = {}): Promise<Choices> {
    const query = { agent, session, cwd };
    return this.#http.json({ method: "GET", path: "/choices", query, signal });
  }

  /** Every slash command that a page offers. */
  async slashCommands({ agent, cwd, signal }: AgentOptions & { cwd?: string | undefined } = {}): Promise<
    Command[]
  > {
    const call = { method: "GET", path: "/slash-commands", query: { agent, cwd } } as const;
    return (await this.#http.json<{ commands: Command[] }>({ ...call, signal })).commands;
  }

  /** Runs a line such as `/cost`. */
  slash(key: string, line: string, { agent, signal }: AgentOptions = {}): Promise<SlashAnswer> {
    const body = { line };
    return this.#http.json({ method: "POST", path: at(key, "/slash"), query: { agent }, body, signal });
  }

  /** Paths of a folder's files that have the typed text, relative to it. */
  async files(
    typed: string,
    { agent, cwd, limit, signal }: PageOptions & { cwd?: string | undefined } = {},
  ): Promise<string[]> {
    const call = { method: "GET", path: "/files", query: { agent, cwd, limit, q: typed } } as const;
    return (await this.#http.json<{ paths: string[] }>({ ...call, signal })).paths;
  }

  /** `entryId`: null moves before the beginning. */
  rewind(key: string, entryId: string | null, { agent, signal }: AgentOptions = {}): Promise<Session> {
    const body = { entryId };
    return this.#http.json({ method: "POST", path: at(key, "/rewind"), query: { agent }, body, signal });
  }

  /** Begins a new empty generation. */
  renew(
    key: string,
    {
      agent,
      reason,
      cwd,
      signal,
    }: AgentOptions & { reason?: "new" | "reset"; cwd?: string | undefined } = {},
  ): Promise<Session> {
    const body = { reason, cwd };
    return this.#http.json({ method: "POST", path: at(key, "/renew"), query: { agent }, body, signal });
  }

  async *export(
    key: string,
    { agent, format, signal }: AgentOptions & { format?: "jsonl" | "markdown" } = {},
  ): AsyncGenerator<Uint8Array> {
    const path = at(key, "/export");
    yield* chunksOf(await this.#http.once({ method: "GET", path, query: { agent, format }, signal }));
  }

  deleteSession(
    key: string,
    { agent, signal }: AgentOptions = {},
  ): Promise<{ sessions: number; bytes: number; isResumed?: true }> {
    return this.#http.json({ method: "DELETE", path: at(key), query: { agent }, signal });
  }

  /** Resolves when the turn is on the server's disk; posted again after a lost connection. */
  postTurn(key: string, turn: Turn, options: PostOptions = {}): Promise<Work> {
    return this.#post(at(key, "/turns"), turn, options);
  }

  compact(
    key: string,
    { focus, cwd }: { focus?: string | undefined; cwd?: string | undefined } = {},
    options: PostOptions = {},
  ): Promise<Work> {
    return this.#post(at(key, "/compact"), { focus, cwd }, options);
  }

  /** Commands of plugins. */
  async commands({ signal }: CallOptions = {}): Promise<Command[]> {
    return (await this.#http.json<{ commands: Command[] }>({ method: "GET", path: "/commands", signal }))
      .commands;
  }

  /** Runs a command of a plugin, after the work before it; its text is the event `command.output`. */
  runCommand(
    key: string,
    command: { name: string; args?: string | undefined; cwd?: string | undefined },
    options: PostOptions = {},
  ): Promise<Work> {
    return this.#post(at(key, "/commands"), command, options);
  }

  #post(path: string, body: object, { agent, signal, idempotencyKey }: PostOptions): Promise<Work> {
    const headers = { "idempotency-key": idempotencyKey ?? newKey() };
    return this.#http.json({ method: "POST", path, query: { agent }, body, headers, repeats: true, signal });
  }

  /** Work of a session, the newest first. */
  async listWork(key: string, { agent, limit, signal }: PageOptions = {}): Promise<Work[]> {
    const query = { agent, limit };
    return (await this.#http.json<{ work: Work[] }>({ method: "GET", path: at(key, "/work"), query, signal }))
      .work;
  }

  /** Work that has not ended, of all sessions, oldest first. */
  async openWork({ signal }: CallOptions = {}): Promise<Work[]> {
    return (await this.#http.json<{ work: Work[] }>({ method: "GET", path: "/work", signal })).work;
  }

  work(id: string, { signal }: CallOptions = {}): Promise<Work> {
    return this.#http.json({ method: "GET", path: `/work/${part(id)}`, signal });
  }

  /** Takes waiting work out of the inbox, or text that was to join a turn. Throws `usage_invalid` where it has begun or joined. */
  withdraw(id: string, { signal }: CallOptions = {}): Promise<Work> {
    return this.#http.json({ method: "DELETE", path: `/work/${part(id)}`, signal });
  }

  /** Ends one piece of work, whether it waits or runs. */
  stopWork(id: string, { signal }: CallOptions = {}): Promise<Work> {
    return this.#http.json({ method: "POST", path: `/work/${part(id)}/stop`, repeats: true, signal });
  }

  /** Adds text to the turn that runs. */
  async steer(key: string, text: string, { agent, signal }: AgentOptions = {}): Promise<void> {
    await this.#http.json({
      method: "POST",
      path: at(key, "/steer"),
      query: { agent },
      body: { text },
      signal,
    });
  }

  /** Ends the turn that runs. */
  async stop(key: string, { agent, signal }: AgentOptions = {}): Promise<void> {
    await this.#http.json({ method: "POST", path: at(key, "/stop"), query: { agent }, signal });
  }

  /** Events of every session that the token may see, until the signal fires. */
  async *events({ after, until, signal }: FollowOptions = {}): AsyncGenerator<ServerEvent> {
    const from = after ?? (await this.status({ signal })).lastEvent;
    yield* followEvents(this.#http, { path: "/events", after: from, until, signal, ...WITHOUT_END });
  }

  async *sessionEvents(
    key: string,
    { after, until, agent, signal }: FollowOptions = {},
  ): AsyncGenerator<ServerEvent> {
    const from = after ?? (await this.status({ signal })).lastEvent;
    yield* followEvents(this.#http, {
      path: at(key, "/events"),
      query: { agent },
      after: from,
      until,
      signal,
      ...WITHOUT_END,
    });
  }

  /** Events of one piece of work, from its beginning or after an id to its end (`work.ended`). */
  followWork(id: string, { after = 0, until, signal }: FollowOptions = {}): AsyncGenerator<ServerEvent> {
    return followEvents(this.#http, {
      path: `/work/${part(id)}/events`,
      after,
      until,
      signal,
      isLast: ({ event }) => event.type === "work.ended",
      isOver: async (had) => !had && (await this.work(id, { signal })).state === "ended",
    });
  }

  async approvals({ signal }: CallOptions = {}): Promise<Approval[]> {
    return (await this.#http.json<{ approvals: Approval[] }>({ method: "GET", path: "/approvals", signal }))
      .approvals;
  }

  /** `reason`: with `deny`, what the model gets; `content`: with `once`, values for the question's form. False where the question was answered before. */
  async answer(
    id: string,
    answer: ApprovalAnswer,
    {
      reason,
      content,
      signal,
    }: CallOptions & { reason?: string | undefined; content?: Record<string, unknown> | undefined } = {},
  ): Promise<boolean> {
    const call = {
      method: "POST",
      path: `/approvals/${part(id)}`,
      body: { answer, reason, content },
      repeats: true,
    } as const;
    return (await this.#http.json<{ answered: boolean }>({ ...call, signal })).answered;
  }

  /** The report of `pagurus status`. */
  sessionStatus(
    key: string,
    {
      agent,
      signal,
      ...turn
    }: AgentOptions & Pick<StatusRequest, "model" | "runtime"> & { cwd?: string | undefined } = {},
  ): Promise<StatusReport> {
    const { cwd, model, runtime } = turn;
    const query = { agent, cwd, model, runtime };
    return this.#http.json({ method: "GET", path: at(key, "/status"), query, signal });
  }

  /** Receipts of a turn's model requests (default: the newest turn's), oldest first. */
  async receipts(
    key: string,
    { agent, turn, signal }: AgentOptions & { turn?: string | undefined } = {},
  ): Promise<Receipt[]> {
    const call = { method: "GET", path: at(key, "/receipts"), query: { agent, turn } } as const;
    return (await this.#http.json<{ receipts: Receipt[] }>({ ...call, signal })).receipts;
  }

  /**
   * What changed between two requests (default: the last two); each by `TURN`, its last request, or `TURN:REQUEST`.
   */
  diff(
    key: string,
    { agent, from, to, signal }: AgentOptions & { from?: string | undefined; to?: string | undefined } = {},
  ): Promise<ReceiptDiff> {
    const query = { agent, from, to };
    return this.#http.json({ method: "GET", path: at(key, "/diff"), query, signal });
  }

  /** The context that would be sent; nothing is sent or stored. */
  preview(
    key: string,
    request: {
      prompt?: string | undefined;
      budget?: number | undefined;
      exact?: boolean | undefined;
      cwd?: string | undefined;
    } = {},
    { agent, signal }: AgentOptions = {},
  ): Promise<ContextPreview> {
    const call = { method: "POST", path: at(key, "/preview"), query: { agent }, repeats: true } as const;
    return this.#http.json({ ...call, body: request, signal });
  }

  async tokens({ signal }: CallOptions = {}): Promise<Token[]> {
    return (await this.#http.json<{ tokens: Token[] }>({ method: "GET", path: "/tokens", signal })).tokens;
  }

  createToken(token: NewToken, { signal }: CallOptions = {}): Promise<{ token: Token; secret: string }> {
    return this.#http.json({ method: "POST", path: "/tokens", body: token, signal });
  }

  /** By id or name. */
  async revokeToken(id: string, { signal }: CallOptions = {}): Promise<Token[]> {
    const path = `/tokens/${part(id)}`;
    return (await this.#http.json<{ revoked: Token[] }>({ method: "DELETE", path, signal })).revoked;
  }

  /** An address that signs in the user's browser, once. */
  async browserCode({
    scope,
    session,
    signal,
  }: CallOptions & { scope?: Scope; session?: { key: string; agent?: string } } = {}): Promise<string> {
    const call = { method: "POST", path: "/browser-codes", body: { scope, session } } as const;
    return (await this.#http.json<{ url: string }>({ ...call, signal })).url;
  }
}

const WITHOUT_END = { isLast: () => false, isOver: () => Promise.resolve(false) };

function part(text: string): string {
  return encodeURIComponent(text);
}

function at(key: string, rest = ""): string {
  return `/sessions/${part(key)}${rest}`;
}

/** `randomUUID` is missing on pages that are not served by TLS or the loopback. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Native sessions of an agent: begin, resume, adjust and close. */
import type { McpServerStdio } from "@agentclientprotocol/sdk/unstable";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";
import type { WireRoute } from "@pagurus/contract/harness/wire";
import { type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { sleep } from "@pagurus/core/platform/deadline";
import type { ServedCall, ServedTools } from "@pagurus/host/mcp/serve/serve-tools";
import {
  RequestRefused,
  startSecondsOf,
  type AgentProcess,
  type AskOptions,
  type SessionListener,
} from "./acp-process.ts";
import type { Agent } from "./agents.ts";
import { methodFor } from "./agents/auth-methods.ts";
import {
  choiceFor,
  isCurrent,
  unknownSessionModel,
  readModel,
  type AskedModel,
  type SessionModel,
} from "./acp-model.ts";
import { defined } from "@pagurus/core/data/defined";

/** Name of the host's MCP server in the agent, which prefixes its tools with it. */
export const SERVER_NAME = "pagurus";
/** Limit of idle open sessions: some agents keep a process of 200 MB for each. */
const MOST_IDLE_SESSIONS = 3;
/** A loaded session's history counts as replayed after this pause, ms. */
const QUIET_MS = 200;
const MOST_REPLAY_MS = 10_000;
/** How long a new session's first prompt waits for an agent that connects to MCP servers after it has answered, ms. */
const CONNECT_MS = 5_000;
/** Timeout of requests for settings, which succeed at once or not at all, ms. */
export const SETTING_MS = 15_000;

/** What a turn provides to a native session while it runs. */
export interface SessionUser extends SessionListener {
  tools: ToolSet;
  /** Called for a call of a host tool, before it runs; resolves with the id of the agent's own call. */
  called(call: ServedCall): Promise<string | undefined>;
  outcome(call: ServedCall, outcome: ToolOutcome): void;
}

/** A native session that a process has open. */
export interface OpenSession {
  id: string;
  /** The running turn. */
  user: SessionUser | undefined;
  served: ServedTools | undefined;
  mode: string | undefined;
  /** Ids of its modes. */
  modes: readonly string[];
  model: SessionModel;
  /** Tokens of its context, as the agent last counted them; undefined before. */
  tokens: number | undefined;
  /** Ids of calls of earlier prompts: later updates of these are not part of the current one. */
  readonly past: Set<string>;
}

export interface SessionRequest {
  cwd: string;
  /** Tools of the host; undefined serves none. */
  tools: ToolSet | undefined;
  /** System prompt, for an agent that accepts one. */
  instructions: string;
  /** Title of a new one in the agent's own lists. */
  title: string;
  signal: AbortSignal;
  /** `_meta` that keeps the agent from files of the folder. */
  meta?: Readonly<Record<string, unknown>> | undefined;
}

/** One process of an agent, for one endpoint. */
export interface Place {
  process: AgentProcess;
  sessions: Map<string, OpenSession>;
  /** Its model is called through the host's gateway, which sends it the context. */
  route: WireRoute | undefined;
  /** The process has begun or resumed a session. */
  isUsed?: boolean;
  /** Turns that use it, or are about to. */
  turns: number;
}

async function serveFor(
  session: Pick<OpenSession, "user">,
  { tools }: SessionRequest,
  { known }: Agent,
): Promise<ServedTools | undefined> {
  if (tools === undefined || tools.specs.length === 0 || known?.takesTools === false) return undefined;
  const { serveTools } = await import("@pagurus/host/mcp/serve/serve-tools");
  return serveTools({
    name: SERVER_NAME,
    tools: () => session.user?.tools,
    onCall: (call) => session.user?.called(call),
    onOutcome: (call, outcome) => session.user?.outcome(call, outcome),
  });
}

/** Why the agent's model has none of the host's tools; undefined when it may have them, or there are none. */
export function missingTools(
  { label, known }: Agent,
  { served }: Pick<OpenSession, "served">,
  { specs }: Pick<ToolSet, "specs">,
): string | undefined {
  if (specs.length === 0 || served?.isListed === true) return undefined;
  const why =
    known?.takesTools === false
      ? `${label} takes no MCP servers over stdio`
      : `${label} has not taken the host's MCP server`;
  const remedy = known?.toolsRemedy === undefined ? "" : `; ${known.toolsRemedy}`;
  const names = specs.map(({ name }) => name).join(", ");
  return `${why}: its model has none of the host's tools (${names})${remedy}.`;
}

function mcpServer({ server }: ServedTools): McpServerStdio {
  const env = Object.entries(server.env).map(([name, value]) => ({ name, value }));
  return { name: SERVER_NAME, command: server.command, args: server.args, env };
}

function emptySession(user: SessionUser | undefined): OpenSession {
  return {
    id: "",
    user,
    served: undefined,
    mode: undefined,
    modes: [],
    model: unknownSessionModel(),
    tokens: undefined,
    past: new Set(),
  };
}

/** As `askedOnce`; a missing login is made up for once, by a key of the agent's environment. */
async function asked(
  place: Place,
  method: string,
  params: object,
  options: AskOptions & { signal: AbortSignal },
): Promise<Fields> {
  try {
    return await askedOnce(place, method, params, options);
  } catch (error) {
    if (!(error instanceof RequestRefused) || !error.needsLogin) throw error;
    const { agent, env, traits } = place.process;
    const login = methodFor(traits.authMethods, env, agent.known?.keys);
    if (!login) throw error;
    await askedOnce(place, "authenticate", { methodId: login.id }, options);
    return askedOnce(place, method, params, options);
  }
}

/** Turns timeouts, refusals and missing logins into sentences; a process that does not answer is ended. */
async function askedOnce(
  { process }: Place,
  method: string,
  params: object,
  { signal, late }: AskOptions,
): Promise<Fields> {
  const seconds = startSecondsOf(process.agent);
  const started = performance.now();
  try {
    return await process.ask(method, params, { deadlineMs: seconds * 1_000, signal, late });
  } catch (error) {
    const isLate = isPagurusError(error) && error.code === "runtime_failed" && process.isAlive;
    if (!isLate || performance.now() - started < seconds * 1_000 - 50) throw error;
    const failure = new PagurusError(
      "runtime_failed",
      `${process.agent.label} did not answer ${method} within ${seconds} s and was ended; try again, or run it by hand to see what it waits for.`,
      { cause: error },
    );
    await process.end(failure, true);
    throw failure;
  }
}

function sessionParams({ process }: Place, request: SessionRequest, served: ServedTools | undefined): object {
  const { cwd, instructions, meta } = request;
  const system =
    process.traits.takesSystemPrompt && instructions !== ""
      ? { systemPrompt: { mode: "append", content: [{ type: "text", text: instructions }] } }
      : {};
  return { cwd, mcpServers: served ? [mcpServer(served)] : [], ...system, ...defined({ _meta: meta }) };
}

/** Throws `RequestRefused`, `runtime_failed`, `turn_aborted`. */
export async function beginSession(
  place: Place,
  request: SessionRequest,
  user: SessionUser,
): Promise<OpenSession> {
  const session = emptySession(user);
  const { signal } = request;
  session.served = await serveFor(session, request, place.process.agent);
  const params = sessionParams(place, request, session.served);
  // Closes a session that arrives after its caller gave up; agents keep a process of 200 MB for each.
  const late = (answer: Fields): void => closeNative(place, stringOf(answer["sessionId"]));
  try {
    const answer = await asked(place, "session/new", params, { signal, late });
    session.id = stringOf(answer["sessionId"]);
    if (session.id === "")
      throw new PagurusError(
        "runtime_failed",
        `${place.process.agent.label} answered session/new without a session id, which violates the Agent Client Protocol.`,
      );
    if (place.process.traits.canTitle)
      await accepted(
        place.process,
        "session/set_title",
        { sessionId: session.id, title: request.title },
        signal,
      );
    await connected(place, session);
    return openedSession(place, session, answer);
  } catch (error) {
    leave(place, session);
    throw error;
  }
}

/** The session as the process has it open, or resumed; undefined when the agent cannot. */
export async function resumeSession(
  place: Place,
  id: string,
  request: SessionRequest,
  user: SessionUser | undefined,
): Promise<OpenSession | undefined> {
  const { process, sessions } = place;
  const known = sessions.get(id);
  if (known) {
    // Two sessions of the host may be bound to one, such as a fork and its origin.
    if (known.user) return undefined;
    known.user = user;
    return known;
  }
  const { canResume, canLoad } = process.traits;
  if (!canResume && !canLoad) return undefined;
  const session = emptySession(user);
  session.id = id;
  session.served = await serveFor(session, request, place.process.agent);
  const params = { sessionId: id, ...sessionParams(place, request, session.served) };
  const { signal } = request;
  const replay = new Replay();
  const unlisten = process.listen(id, replay);
  try {
    const answer = await asked(place, canResume ? "session/resume" : "session/load", params, { signal });
    if (!canResume) await replay.isOver(signal);
    await connected(place, session);
    return openedSession(place, session, answer);
  } catch (error) {
    await session.served?.close();
    if (error instanceof RequestRefused && !error.needsLogin) return undefined;
    throw error;
  } finally {
    unlisten();
  }
}

/** Without it, the model of the first prompt may have none of the host's tools. */
async function connected({ process }: Place, { served }: OpenSession): Promise<void> {
  if (process.agent.known?.connectsLate === true) await served?.listed(CONNECT_MS);
}

/** Listener for the history that an agent replays after a load, in some agents even after the response. */
class Replay implements SessionListener {
  #lastMs = performance.now();

  update(): void {
    this.#lastMs = performance.now();
  }

  permission(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Throws `turn_aborted`. */
  async isOver(signal: AbortSignal): Promise<void> {
    const begun = (this.#lastMs = performance.now());
    for (;;) {
      const quiet = performance.now() - this.#lastMs;
      if (quiet >= QUIET_MS || performance.now() - begun > MOST_REPLAY_MS) return;
      await sleep(QUIET_MS - quiet, signal);
    }
  }
}

function openedSession(place: Place, session: OpenSession, answer: Fields): OpenSession {
  const modes = recordOf(answer["modes"]);
  session.modes = listOf(modes["availableModes"]).map((mode) => stringOf(recordOf(mode)["id"]));
  session.mode = stringOf(modes["currentModeId"]) || undefined;
  session.model = readModel(answer) ?? session.model;
  place.isUsed = true;
  place.sessions.set(session.id, session);
  return session;
}

/** Sets mode and model for the turn, where the agent can be set. Throws `turn_aborted`. */
export async function adjust(
  { process }: Place,
  session: OpenSession,
  wanted: { mode: string | undefined; model: AskedModel },
  signal: AbortSignal,
): Promise<void> {
  const { mode, model } = wanted;
  if (mode !== undefined && mode !== session.mode && session.modes.includes(mode)) {
    const params = { sessionId: session.id, modeId: mode };
    if (await accepted(process, "session/set_mode", params, signal)) session.mode = mode;
  }
  await setModel(process, session, model, signal);
}

/** A model that the environment names and the agent's list lacks is not set: agents take the nearest one of the list. */
async function setModel(
  process: AgentProcess,
  session: OpenSession,
  { id, isNamed }: AskedModel,
  signal: AbortSignal,
): Promise<void> {
  const { model } = session;
  const choice = choiceFor(id, model);
  if (!model.setting || isCurrent(model, id) || (isNamed && choice === undefined)) return;
  const value = choice ?? id;
  const params = { sessionId: session.id, ...model.setting.params(value) };
  const answer = await accepted(process, model.setting.method, params, signal);
  if (answer) session.model = { ...model, current: value, ...readModel(answer), setFor: id };
}

async function accepted(
  process: AgentProcess,
  method: string,
  params: object,
  signal: AbortSignal,
): Promise<Fields | undefined> {
  try {
    return await process.ask(method, params, { deadlineMs: SETTING_MS, signal });
  } catch (error) {
    if (error instanceof RequestRefused) return undefined;
    throw error;
  }
}

/** Releases the session after a turn; of the idle ones, the most recently used stay open. */
export function rest(place: Place, session: OpenSession): void {
  session.user = undefined;
  const { sessions } = place;
  if (sessions.delete(session.id)) sessions.set(session.id, session);
  const idle = [...sessions.values()].filter(({ user }) => !user);
  for (const each of idle.slice(0, Math.max(0, idle.length - MOST_IDLE_SESSIONS))) leave(place, each);
}

/** Closes it in this process; an agent that can resume it still can. */
export function leave(place: Place, session: OpenSession): void {
  place.sessions.delete(session.id);
  place.process.forget(session.id);
  void session.served?.close();
  closeNative(place, session.id);
}

function closeNative({ process }: Place, sessionId: string): void {
  if (sessionId === "" || !process.isAlive || !process.traits.canClose) return;
  process.ask("session/close", { sessionId }, { deadlineMs: SETTING_MS }).catch(() => undefined);
}

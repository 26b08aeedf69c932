/** Native sessions of an agent: which are open, how one begins, goes on and is left. */
import type { McpServerStdio } from "@agentclientprotocol/sdk/unstable";
import { PagurusError } from "../../contract/errors.ts";
import type { ToolOutcome, ToolSet } from "../../contract/tool.ts";
import type { WireRoute } from "../../contract/wire.ts";
import { sleep } from "../../platform/deadline.ts";
import type { ServedCall, ServedTools } from "../../mcp/serve/serve-tools.ts";
import {
  RequestRefused,
  startSecondsOf,
  type AgentProcess,
  type AskOptions,
  type SessionListener,
} from "./agent-process.ts";
import { fields, list, text, type Fields } from "./fields.ts";

/** Under which the host's tools are configured with the agent; it names them after it. */
export const SERVER_NAME = "pagurus";
/** Native sessions that no turn runs on and stay open: some agents keep a process of 200 MB for each. */
const MOST_IDLE = 3;
/** After a load that nothing more was told of for that long, ms, its history has been told again. */
const QUIET_MS = 200;
const MOST_REPLAY_MS = 10_000;
/** For what comes right, or not at all, ms. */
export const SETTING_MS = 15_000;

/** What a turn has in a native session while it runs. */
export interface SessionUser extends SessionListener {
  tools: ToolSet;
  /** A call of a host tool, before it runs; answers the id of the agent's call that it belongs to. */
  called(call: ServedCall): Promise<string | undefined>;
  outcome(call: ServedCall, outcome: ToolOutcome): void;
}

interface ModelSetting {
  method: string;
  /** Beside the session. */
  params(model: string): object;
}

/** A native session that a process has open. */
export interface OpenSession {
  id: string;
  /** The turn that runs on it. */
  user: SessionUser | undefined;
  served: ServedTools | undefined;
  mode: string | undefined;
  /** Ids of the modes that it has. */
  modes: readonly string[];
  model: string | undefined;
  /** How it is told its model; undefined where it cannot be. */
  modelSetting: ModelSetting | undefined;
  /** Of its context, as the agent last counted them; undefined while it has not. */
  tokens: number | undefined;
  /** Ids of calls of prompts that are over: what is still told of these is no part of a later one. */
  readonly past: Set<string>;
}

export interface SessionRequest {
  cwd: string;
  /** Of the host; none are served where they are not known. */
  tools: ToolSet | undefined;
  /** System prompt, for an agent that takes one. */
  instructions: string;
  /** What a new one is called in the agent's own lists. */
  title: string;
  signal: AbortSignal;
}

/** One process of an agent, for one endpoint. */
export interface Place {
  process: AgentProcess;
  sessions: Map<string, OpenSession>;
  /** Its model is asked through the host's gateway, which tells it the context. */
  route: WireRoute | undefined;
  /** Turns that use it, or are about to. */
  turns: number;
}

async function serveFor(
  session: Pick<OpenSession, "user">,
  { tools }: SessionRequest,
): Promise<ServedTools | undefined> {
  if (tools === undefined || tools.specs.length === 0) return undefined;
  const { serveTools } = await import("../../mcp/serve/serve-tools.ts");
  return serveTools({
    name: SERVER_NAME,
    tools: () => session.user?.tools,
    onCall: (call) => session.user?.called(call),
    onOutcome: (call, outcome) => session.user?.outcome(call, outcome),
  });
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
    model: undefined,
    modelSetting: undefined,
    tokens: undefined,
    past: new Set(),
  };
}

/** Hangs, refusals and missing logins as sentences; the process is ended where it does not answer at all. */
async function asked(
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
    const isLate = error instanceof PagurusError && error.code === "runtime_failed" && process.isAlive;
    if (!isLate || performance.now() - started < seconds * 1_000 - 50) throw error;
    const failure = new PagurusError(
      "runtime_failed",
      `${process.agent.label} did not answer ${method} within ${seconds} s and was ended; try again, or look at what it waits for by running it by hand.`,
      { cause: error },
    );
    await process.end(failure, true);
    throw failure;
  }
}

function sessionParams({ process }: Place, request: SessionRequest, served: ServedTools | undefined): object {
  const { cwd, instructions } = request;
  const system =
    process.traits.takesSystemPrompt && instructions !== ""
      ? { systemPrompt: { mode: "append", content: [{ type: "text", text: instructions }] } }
      : {};
  return { cwd, mcpServers: served ? [mcpServer(served)] : [], ...system };
}

/** Throws `RequestRefused`, `runtime_failed`, `turn_aborted`. */
export async function beginSession(
  place: Place,
  request: SessionRequest,
  user: SessionUser,
): Promise<OpenSession> {
  const session = emptySession(user);
  const { signal } = request;
  session.served = await serveFor(session, request);
  const params = sessionParams(place, request, session.served);
  // Agents keep a process of 200 MB for one that nobody has asked for any more.
  const late = (answer: Fields): void => closeNative(place, text(answer["sessionId"]));
  try {
    const answer = await asked(place, "session/new", params, { signal, late });
    session.id = text(answer["sessionId"]);
    if (session.id === "")
      throw new PagurusError(
        "runtime_failed",
        `${place.process.agent.label} answered session/new without a session id; it does not keep to the Agent Client Protocol.`,
      );
    if (place.process.traits.canTitle)
      await accepted(
        place.process,
        "session/set_title",
        { sessionId: session.id, title: request.title },
        signal,
      );
    return opened(place, session, answer);
  } catch (error) {
    leave(place, session);
    throw error;
  }
}

/** The session as the process has it open, or brought back where the agent can; undefined where it cannot. */
export async function goOnWith(
  place: Place,
  id: string,
  request: SessionRequest,
  user: SessionUser | undefined,
): Promise<OpenSession | undefined> {
  const { process, sessions } = place;
  const known = sessions.get(id);
  if (known) {
    // Two sessions of the host may be bound to one, such as a fork and what it was forked from.
    if (known.user) return undefined;
    known.user = user;
    return known;
  }
  const { canResume, canLoad } = process.traits;
  if (!canResume && !canLoad) return undefined;
  const session = emptySession(user);
  session.id = id;
  session.served = await serveFor(session, request);
  const params = { sessionId: id, ...sessionParams(place, request, session.served) };
  const { signal } = request;
  const replay = new Replay();
  const unlisten = process.listen(id, replay);
  try {
    const answer = await asked(place, canResume ? "session/resume" : "session/load", params, { signal });
    if (!canResume) await replay.isOver(signal);
    return opened(place, session, answer);
  } catch (error) {
    await session.served?.close();
    if (error instanceof RequestRefused && !error.needsLogin) return undefined;
    throw error;
  } finally {
    unlisten();
  }
}

/** A session's history as it is told again where it is loaded: some agents go on with it when they have answered. */
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

function opened({ sessions }: Place, session: OpenSession, answer: Fields): OpenSession {
  const modes = fields(answer["modes"]);
  session.modes = list(modes["availableModes"]).map((mode) => text(fields(mode)["id"]));
  session.mode = text(modes["currentModeId"]) || undefined;
  noteModel(session, answer);
  sessions.set(session.id, session);
  return session;
}

/** A config option chooses the model, or, as with Gemini CLI, a method of its own. */
function noteModel(session: OpenSession, answer: Fields): void {
  const option = list(answer["configOptions"])
    .map(fields)
    .find(({ category, type }) => category === "model" && type === "select");
  const models = fields(answer["models"]);
  if (option) {
    const configId = text(option["id"]);
    session.modelSetting = {
      method: "session/set_config_option",
      params: (value) => ({ configId, value }),
    };
    session.model = text(option["currentValue"]) || undefined;
  } else if (list(models["availableModels"]).length > 0) {
    session.modelSetting = { method: "session/set_model", params: (modelId) => ({ modelId }) };
    session.model = text(models["currentModelId"]) || undefined;
  }
}

/** Mode and model as the turn wants them. Answers what the agent did not take, a sentence each. Throws `turn_aborted`. */
export async function adjust(
  { process }: Place,
  session: OpenSession,
  wanted: { mode: string | undefined; model: string },
  signal: AbortSignal,
): Promise<string[]> {
  const told: string[] = [];
  const { mode, model } = wanted;
  const { label } = process.agent;
  if (mode !== undefined && mode !== session.mode) {
    const params = { sessionId: session.id, modeId: mode };
    if (session.modes.includes(mode) && (await accepted(process, "session/set_mode", params, signal)))
      session.mode = mode;
    else told.push(`${label} has no mode "${mode}" and stays in ${session.mode ?? "its own"}.`);
  }
  if (model === session.model) return told;
  const { modelSetting: setting } = session;
  const params = { sessionId: session.id, ...setting?.params(model) };
  if (setting && (await accepted(process, setting.method, params, signal))) session.model = model;
  else told.push(`${label} cannot be told the model ${model} and goes on with its own${ofModel(session)}.`);
  return told;
}

function ofModel({ model }: OpenSession): string {
  return model === undefined ? "" : `, ${model}`;
}

async function accepted(
  process: AgentProcess,
  method: string,
  params: object,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await process.ask(method, params, { deadlineMs: SETTING_MS, signal });
    return true;
  } catch (error) {
    if (error instanceof RequestRefused) return false;
    throw error;
  }
}

/** A turn on it has ended; of those that rest, the last used stay open. */
export function rest(place: Place, session: OpenSession): void {
  session.user = undefined;
  const { sessions } = place;
  if (sessions.delete(session.id)) sessions.set(session.id, session);
  const idle = [...sessions.values()].filter(({ user }) => !user);
  for (const each of idle.slice(0, Math.max(0, idle.length - MOST_IDLE))) leave(place, each);
}

/** Nobody goes on with it in this process; where it can be brought back, it still can. */
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

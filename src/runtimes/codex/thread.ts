/**
 * Native threads: how one is made for a context, and what it holds. Within an epoch a thread only grows: each turn finds
 * it holding what the last one left, and adds what the thread lacks. Source: the design, "Codex", seam `thread`.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { ToolSpec } from "../../contract/tool.ts";
import { NO_COMPACTION } from "./catalog.ts";
import { extended, hashOf, type Held, NOTHING_HELD } from "../../native/held.ts";
import type {
  DynamicToolSpec,
  JsonValue,
  SandboxPolicy,
  ThreadResumeParams,
  ThreadStartParams,
} from "./protocol.ts";

/** What must be the same for a thread to go on. */
export interface ThreadIdentity {
  epoch: string | undefined;
  fingerprint: string | undefined;
  /** Hashes: of the tool catalog alone, never of engine output; of the developer instructions; of model and endpoint. */
  tools: string;
  instructions: string;
  model: string;
}

/** What is known of a thread when no turn runs on it. */
export interface ThreadContent {
  /** What comes behind it in a context is new to the thread. Absent where Codex keeps the context in its own way. */
  held?: Held | undefined;
  /** Transcript entry of the newest message that reached the thread. */
  anchor?: string | undefined;
  /** Codex has compacted the thread since: the fragments are gone from it. */
  isCompacted?: boolean;
  /** The user's own, which was taken over: never archived. */
  isTheirs?: boolean;
}

/** The binding's state, as it is kept with the session. */
export interface ThreadState extends ThreadIdentity, ThreadContent {
  /** Set while a turn runs: what the thread holds is not known if it is found so. */
  openTurn?: string;
}

export function identityOf(
  turn: HarnessTurn,
  context: Pick<AssembledContext, "system" | "projection">,
  endpoint: string,
): ThreadIdentity {
  return {
    epoch: context.projection?.epoch,
    fingerprint: context.projection?.fingerprint,
    tools: turn.tools.fingerprint,
    instructions: hashOf(context.system),
    model: hashOf(`${turn.model.ref}\n${endpoint}`),
  };
}

export function readState({ state }: HarnessBinding): ThreadState | undefined {
  const { count, hash } = (state["held"] ?? NOTHING_HELD) as Partial<Held>;
  if (typeof count !== "number" || typeof hash !== "string") return undefined;
  if (typeof state["tools"] !== "string" || typeof state["model"] !== "string") return undefined;
  return state as unknown as ThreadState;
}

export type Standing =
  /** The bound thread goes on; `delta` is what it lacks of the history. */
  | {
      bound: true;
      nativeId: string;
      identity: ThreadIdentity;
      held: Held | undefined;
      delta: AgentMessage[];
      isCompacted: boolean;
      isTheirs: boolean;
    }
  /** Why a new thread is due. */
  | { bound: false; reason: string };

const DIFFERENCES: readonly (readonly [keyof ThreadIdentity, string])[] = [
  ["model", "another model or endpoint"],
  ["tools", "another tool catalog"],
  ["epoch", "another epoch"],
  ["fingerprint", "another fingerprint of the context"],
  ["instructions", "other developer instructions"],
];

/**
 * Whether the session's thread can go on with a context whose history is `history`. `keeps`: Codex keeps the context by
 * itself, and what the thread lacks is what was said since.
 */
export function standingOf(
  binding: HarnessBinding | undefined,
  identity: ThreadIdentity,
  history: readonly AgentMessage[],
  keeps = false,
): Standing {
  if (!binding) return { bound: false, reason: "no thread is bound" };
  const state = readState(binding);
  if (!state) return { bound: false, reason: "the binding cannot be read" };
  if (state.openTurn !== undefined)
    return { bound: false, reason: "a turn on the thread did not end as it should" };
  for (const [field, reason] of DIFFERENCES)
    if (state[field] !== identity[field]) return { bound: false, reason };
  const lacking = keeps ? saidSince(state, history) : behindHeld(state, history);
  if (!lacking) return { bound: false, reason: "the history is not what the thread holds" };
  const { isCompacted = false, isTheirs = false } = state;
  return { bound: true, nativeId: binding.nativeId, identity, isCompacted, isTheirs, ...lacking };
}

interface Lacking {
  held: Held | undefined;
  delta: AgentMessage[];
}

function behindHeld({ held }: ThreadState, history: readonly AgentMessage[]): Lacking | undefined {
  if (!held || history.length < held.count) return undefined;
  if (extended(NOTHING_HELD, history.slice(0, held.count)).hash !== held.hash) return undefined;
  const delta = history.slice(held.count);
  return { held: extended(held, delta), delta };
}

function saidSince({ anchor }: ThreadState, history: readonly AgentMessage[]): Lacking | undefined {
  if (anchor === undefined) return undefined;
  const at = history.findLastIndex(({ entryId }) => entryId === anchor);
  return at === -1 ? undefined : { held: undefined, delta: history.slice(at + 1) };
}

/** The same where the engine could not be asked: the thread goes on as it is, whatever the plain history says. */
export function unassembledStanding(binding: HarnessBinding | undefined, identity: ThreadIdentity): Standing {
  const state = binding && readState(binding);
  if (!binding || !state || state.openTurn !== undefined)
    return { bound: false, reason: "no thread is bound" };
  if (state.model !== identity.model || state.tools !== identity.tools)
    return { bound: false, reason: "another model or tool catalog" };
  const {
    held,
    epoch,
    fingerprint,
    tools,
    instructions,
    model,
    isCompacted = false,
    isTheirs = false,
  } = state;
  return {
    bound: true,
    nativeId: binding.nativeId,
    identity: { epoch, fingerprint, tools, instructions, model },
    held,
    delta: [],
    isCompacted,
    isTheirs,
  };
}

/**
 * The same on the wire, where neither what a thread holds nor an epoch is of interest. `isPlain`: the engine could not be
 * asked, and what it says beside the instructions is not known.
 */
export function wireStanding(
  binding: HarnessBinding | undefined,
  identity: ThreadIdentity,
  isPlain: boolean,
): Standing {
  const state = binding && readState(binding);
  if (!binding || !state) return { bound: false, reason: "no thread is bound" };
  const { instructions, isTheirs = false } = state;
  const now = isPlain ? { ...identity, instructions } : identity;
  for (const [field, reason] of DIFFERENCES) if (state[field] !== now[field]) return { bound: false, reason };
  const { nativeId } = binding;
  return { bound: true, nativeId, identity: now, held: undefined, delta: [], isCompacted: false, isTheirs };
}

/** While a turn runs on the thread. */
export function openBinding(
  nativeId: string,
  identity: ThreadIdentity,
  turnId: string,
  isTheirs = false,
): HarnessBinding {
  return { nativeId, state: { ...identity, openTurn: turnId, ...(isTheirs ? { isTheirs } : {}) } };
}

/** The user's own thread, which was taken over: what becomes of it is not the host's to say. */
export function isTheirs({ state }: HarnessBinding): boolean {
  return state["adopted"] === true || state["isTheirs"] === true;
}

/** After a turn that left the thread holding exactly this. */
export function closedBinding(
  nativeId: string,
  identity: ThreadIdentity,
  content: ThreadContent,
): HarnessBinding {
  return { nativeId, state: { ...identity, ...content } };
}

/** Where the model of a turn is served, as a provider of Codex. */
export interface Endpoint {
  baseUrl: string;
  headers: Record<string, string>;
}

const PROVIDER_ID = "pagurus";
/** Calls in all as in our own loop; Codex's defaults keep a user waiting for half a minute. */
const MOST_RETRIES = 4;
/** Behind the gateway, which asks again by itself until an answer has begun: for those that were cut. */
const MOST_RETRIES_WIRED = 2;

export interface ThreadSettings {
  endpoint: Endpoint | undefined;
  /** File of a model catalog under which Codex does not compact by itself; absent where it keeps its own ways. */
  catalogFile: string | undefined;
  /** The endpoint is a route through the model gateway. */
  isWired?: boolean;
  developerInstructions: string;
  sandbox: "read-only" | "workspace-write" | "danger-full-access";
  ephemeral: boolean;
}

function dynamicTools(specs: readonly ToolSpec[]): DynamicToolSpec[] {
  return specs.map(({ name, description, parameters }) => ({
    type: "function",
    name,
    description,
    inputSchema: parameters as JsonValue,
  }));
}

function threadConfig({
  endpoint,
  catalogFile,
  isWired,
}: Pick<ThreadSettings, "endpoint" | "catalogFile" | "isWired">): {
  [key: string]: JsonValue;
} {
  const provider: JsonValue | undefined = endpoint && {
    name: PROVIDER_ID,
    base_url: endpoint.baseUrl,
    wire_api: "responses",
    http_headers: endpoint.headers,
    // Codex tells nobody of these, and multiplies both.
    request_max_retries: 0,
    stream_max_retries: isWired === true ? MOST_RETRIES_WIRED : MOST_RETRIES,
  };
  return {
    // The host's instructions hold the project's own files already.
    project_doc_max_bytes: 0,
    // A thread that the host puts away leaves the child's memory at once.
    thread_unload_delay_secs: 0,
    ...(provider ? { model_providers: { [PROVIDER_ID]: provider } } : {}),
    ...(catalogFile === undefined ? {} : { model_catalog_json: catalogFile, ...NO_COMPACTION }),
  };
}

type Sandbox = ThreadSettings["sandbox"];

/** As Codex makes it of the mode's name. */
export function sandboxPolicy(sandbox: Sandbox, cwd: string): SandboxPolicy {
  if (sandbox === "danger-full-access") return { type: "dangerFullAccess" };
  if (sandbox === "read-only") return { type: "readOnly", networkAccess: false };
  const none = { networkAccess: false, excludeTmpdirEnvVar: false, excludeSlashTmp: false };
  return { type: "workspaceWrite", writableRoots: [cwd], ...none };
}

/** What a resumed thread is told again; tools and instructions it has of its own. */
export function resumeParams(
  threadId: string,
  model: string,
  cwd: string,
  settings: Omit<ThreadSettings, "developerInstructions" | "ephemeral">,
): ThreadResumeParams {
  return {
    threadId,
    excludeTurns: true,
    model,
    ...(settings.endpoint ? { modelProvider: PROVIDER_ID } : {}),
    cwd,
    approvalPolicy: "untrusted",
    sandbox: settings.sandbox,
    config: threadConfig(settings),
  };
}

/** Approval policy `untrusted`: whatever is not known to be harmless is asked for, and the host decides. */
export function startParams(turn: HarnessTurn, settings: ThreadSettings): ThreadStartParams {
  const { endpoint, sandbox, developerInstructions, ephemeral } = settings;
  return {
    model: turn.model.id,
    ...(endpoint ? { modelProvider: PROVIDER_ID } : {}),
    cwd: turn.cwd,
    approvalPolicy: "untrusted",
    sandbox,
    config: threadConfig(settings),
    developerInstructions,
    ephemeral,
    experimentalRawEvents: true,
    dynamicTools: dynamicTools(turn.tools.specs),
  };
}

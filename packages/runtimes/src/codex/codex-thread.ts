/**
 * Native threads: the parameters of a new one, and what a thread holds. Within an epoch a thread only grows: each turn adds
 * what the last one left out. Source: the design, "Codex", seam `thread`.
 */
import type { AssembledContext, HarnessBinding, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import { NO_COMPACTION } from "./codex-catalog.ts";
import { textAround } from "@pagurus/core/native/around";
import { afterCompaction, type ShownInstructions } from "./shown-instructions.ts";
import {
  contextIdentity,
  CONTEXT_DIFFERENCES,
  differenceOf,
  foundThread,
  hashOf,
  lackingOf,
  stateOf,
  type ContextIdentity,
  type Differences,
  type Lacking,
  type ThreadContent,
  type ThreadState,
} from "../thread/thread-state.ts";
import type {
  DynamicToolSpec,
  JsonValue,
  SandboxPolicy,
  ThreadResumeParams,
  ThreadStartParams,
} from "./protocol.ts";

/** What must be equal for a thread to continue. */
export interface ThreadIdentity extends ContextIdentity {
  /** Hash of model and endpoint. */
  model: string;
  /** Hash of the text around the base instructions when the thread began; another text there does not start a new thread. */
  added?: string;
  /** That text has changed since, and Codex gets the current one with each turn. */
  isChanged?: boolean;
}

/** What is known of a thread between turns. */
export interface CodexThreadContent extends ThreadContent {
  /** The user's own thread, which was adopted: never archived. */
  isTheirs?: boolean;
  /** Tokens of a whole request, as Codex counts them. */
  tokens?: number | undefined;
  /** Absent when a program keeps the instructions elsewhere. */
  shown?: ShownInstructions | undefined;
}

type CodexThreadState = ThreadIdentity & CodexThreadContent & ThreadState;

export function identityOf(
  turn: HarnessTurn,
  context: Pick<AssembledContext, "system" | "projection">,
  endpoint: string,
  isWired = false,
): ThreadIdentity {
  return {
    ...contextIdentity(turn, context),
    model: hashOf(`${turn.model.ref}\n${endpoint}`),
    ...(isWired
      ? {}
      : {
          instructions: hashOf(turn.instructions),
          added: hashOf(textAround(context.system, turn.instructions)),
        }),
  };
}

/** Hash for a thread whose state has none: its instructions are the program's own. */
const NOTHING_ADDED = hashOf("");

/** The identity of a continued thread: as it began, and whether the text added to its instructions has changed. */
function continuedIdentity(state: CodexThreadState, identity: ThreadIdentity): ThreadIdentity {
  const { added = NOTHING_ADDED } = state;
  const isChanged = state.isChanged === true || added !== identity.added;
  return { ...identity, added, ...(isChanged ? { isChanged } : {}) };
}

const REPLACED =
  "What follows takes the place of all that was added to your instructions before, at the beginning of this conversation and since.";
const NOTHING_NOW =
  "Nothing of what was added to your instructions before holds any more, at the beginning of this conversation and since.";

/** Developer instructions of a turn on a thread that began with other text around its base instructions. */
export function changedInstructions(system: string, instructions: string): string {
  const added = textAround(system, instructions);
  return added === "" ? NOTHING_NOW : `${REPLACED}\n\n${added}`;
}

export function readCodexState(binding: HarnessBinding): CodexThreadState | undefined {
  return stateOf<CodexThreadState>(binding, ["tools", "model"]);
}

export type BindingCheck =
  /** The bound thread continues; `delta` is what it lacks of the history. */
  | (Lacking & {
      bound: true;
      nativeId: string;
      identity: ThreadIdentity;
      isCompacted: boolean;
      isTheirs: boolean;
      tokens?: number | undefined;
      shown?: ShownInstructions | undefined;
    })
  /** Why a new thread is needed. */
  | { bound: false; reason: string };

const MODEL_DIFFERENCE = ["model", "another model or endpoint"] as const;
const DIFFERENCES: Differences<ThreadIdentity> = [MODEL_DIFFERENCE, ...CONTEXT_DIFFERENCES];
/** The parts that are compared after a failed `assemble`. */
const PLAIN_DIFFERENCES: Differences<ThreadIdentity> = [MODEL_DIFFERENCE, ["tools", "another tool catalog"]];

function continued(
  { nativeId, state }: { nativeId: string; state: CodexThreadState },
  identity: ThreadIdentity,
  lacking: Lacking,
): BindingCheck {
  const { isCompacted = false, isTheirs = false, tokens } = state;
  const shown = state.shown && isCompacted ? afterCompaction(state.shown) : state.shown;
  return { bound: true, nativeId, identity, isCompacted, isTheirs, tokens, shown, ...lacking };
}

/**
 * Compares the binding with a context whose history is `history`. `keeps`: Codex manages the context, and the thread lacks
 * only later messages.
 */
export function checkCodexBinding(
  binding: HarnessBinding | undefined,
  identity: ThreadIdentity,
  history: readonly AgentMessage[],
  keeps = false,
): BindingCheck {
  const found = foundThread(binding, readCodexState, identity, DIFFERENCES);
  if (!found.bound) return found;
  const lacking = lackingOf(found.state, history, keeps);
  if (!lacking) return { bound: false, reason: "the history is not what the thread holds" };
  return continued(found, continuedIdentity(found.state, identity), lacking);
}

/** The same after a failed `assemble`: the thread continues as it is, whatever the plain history contains. */
export function checkUnassembled(
  binding: HarnessBinding | undefined,
  identity: ThreadIdentity,
): BindingCheck {
  const found = foundThread(binding, readCodexState, identity, PLAIN_DIFFERENCES);
  if (!found.bound) return found;
  const {
    held,
    anchor: _anchor,
    isCompacted: _compacted,
    isTheirs: _theirs,
    tokens: _tokens,
    shown: _shown,
    ...known
  } = found.state;
  return continued(found, known, { held, delta: [] });
}

/**
 * The same on the wire, where neither the thread's content nor an epoch matters. `isPlain`: `assemble` failed, so the
 * addition to the instructions is unknown.
 */
export function checkWired(
  binding: HarnessBinding | undefined,
  identity: ThreadIdentity,
  isPlain: boolean,
): BindingCheck {
  const state = binding && readCodexState(binding);
  if (!binding || !state) return { bound: false, reason: "no thread is bound" };
  const { instructions, isTheirs = false } = state;
  const now = isPlain ? { ...identity, instructions } : identity;
  const reason = differenceOf(state, now, DIFFERENCES);
  if (reason !== undefined) return { bound: false, reason };
  const { nativeId } = binding;
  return { bound: true, nativeId, identity: now, held: undefined, delta: [], isCompacted: false, isTheirs };
}

/** Binding while a turn runs on the thread. */
export function openBinding(
  nativeId: string,
  identity: ThreadIdentity,
  turnId: string,
  isTheirs = false,
): HarnessBinding {
  return { nativeId, state: { ...identity, openTurn: turnId, ...(isTheirs ? { isTheirs } : {}) } };
}

/** The user's own, adopted thread: the host never archives or deletes it. */
export function isForeignThread({ state }: HarnessBinding): boolean {
  return state["adopted"] === true || state["isTheirs"] === true;
}

/** Binding after a turn that left the thread holding exactly this. */
export function closedBinding(
  nativeId: string,
  identity: ThreadIdentity,
  content: CodexThreadContent,
): HarnessBinding {
  return { nativeId, state: { ...identity, ...content } };
}

/** Address of a turn's model, as a provider of Codex. */
export interface Endpoint {
  baseUrl: string;
  headers: Record<string, string>;
}

const PROVIDER_ID = "pagurus";
/** As many calls in total as our own loop makes; Codex's defaults keep a user waiting for half a minute. */
const MOST_RETRIES = 4;
/** For answers that were cut: the gateway itself retries until an answer has begun. */
const MOST_RETRIES_WIRED = 2;

export interface ThreadSettings {
  endpoint: Endpoint | undefined;
  /** File of a model catalog that disables Codex's own compaction; absent when that stays enabled. */
  catalogFile: string | undefined;
  /** Folders that Codex is to take for untrusted; empty if the user trusts the thread's. */
  untrusted: readonly string[];
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
  untrusted,
}: Pick<ThreadSettings, "endpoint" | "catalogFile" | "isWired" | "untrusted">): {
  [key: string]: JsonValue;
} {
  const provider: JsonValue | undefined = endpoint && {
    name: PROVIDER_ID,
    base_url: endpoint.baseUrl,
    wire_api: "responses",
    http_headers: endpoint.headers,
    // Codex does not report these retries, and multiplies both.
    request_max_retries: 0,
    stream_max_retries: isWired === true ? MOST_RETRIES_WIRED : MOST_RETRIES,
  };
  return {
    // The host's instructions contain the project's own files already.
    project_doc_max_bytes: 0,
    // A released thread leaves the child's memory at once.
    thread_unload_delay_secs: 0,
    // Else Codex trusts a folder that it was never asked about, and starts the MCP servers of its files.
    ...(untrusted.length > 0
      ? { projects: Object.fromEntries(untrusted.map((folder) => [folder, { trust_level: "untrusted" }])) }
      : {}),
    ...(provider ? { model_providers: { [PROVIDER_ID]: provider } } : {}),
    ...(catalogFile === undefined ? {} : { model_catalog_json: catalogFile, ...NO_COMPACTION }),
  };
}

type Sandbox = ThreadSettings["sandbox"];

/** The policy that Codex derives from the mode's name. */
export function sandboxPolicy(sandbox: Sandbox, cwd: string): SandboxPolicy {
  if (sandbox === "danger-full-access") return { type: "dangerFullAccess" };
  if (sandbox === "read-only") return { type: "readOnly", networkAccess: false };
  const none = { networkAccess: false, excludeTmpdirEnvVar: false, excludeSlashTmp: false };
  return { type: "workspaceWrite", writableRoots: [cwd], ...none };
}

/** Parameters of a resumed thread; it keeps its tools and instructions. */
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

/** Approval policy `untrusted`: Codex requests permission for whatever is not known to be harmless, and the host decides. */
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

/** Native threads of runtimes: list them, adopt one as a session, report the runtime's status. */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type {
  AdoptedThread,
  BindReport,
  ListedThread,
  NativeStatus,
  NativeThreadFilter,
} from "@pagurus/contract/harness/native";
import type { ToolSet } from "@pagurus/contract/harness/tool";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { readBinding, writeBinding } from "../../stores/files/bindings.ts";
import { hostTools } from "./inspect-session.ts";
import { governs } from "../context/native-context.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { sessionKeyOf } from "../agent/session-key.ts";
import { defined } from "@pagurus/core/data/defined";

interface Asked {
  runtime: string;
  signal: AbortSignal;
}

/** Throws `runtime_unknown`, `runtime_unsupported`, and what the runtime throws. */
export async function listThreads(
  host: AgentHost,
  { runtime, signal, ...filter }: Asked & NativeThreadFilter,
): Promise<ListedThread[]> {
  const harness = harnessOf(host, runtime);
  if (!harness.threads) throw unsupported(harness, "lists no threads");
  const threads = await harness.threads(filter, signal);
  const sessions = sessionsByThread(host, harness);
  return threads.map((thread) => {
    const session = sessions.get(thread.nativeId);
    return session ? { ...thread, sessionKey: session.sessionKey } : thread;
  });
}

/**
 * Throws `runtime_unknown`, `runtime_unsupported`, `thread_unknown`, `session_exists`, `session_locked`, `import_invalid`, and
 * what creating the engine throws.
 */
export async function bindThread(
  host: AgentHost,
  request: Asked & { nativeId: string; sessionKey?: string },
): Promise<BindReport> {
  const { runtime, nativeId, signal, sessionKey } = request;
  const harness = harnessOf(host, runtime);
  if (!harness.adopt) throw unsupported(harness, "has no threads that can be taken over");
  if (sessionKey !== undefined) assertEmpty(host, sessionKey);
  const isGoverned = governs(await host.slot.get());
  const thread = await harness.adopt(nativeId, signal);
  const bound = sessionsByThread(host, harness).get(thread.nativeId);
  if (bound) throw alreadyBound(thread.nativeId, bound);
  const notices: string[] = [];
  const session = await importThread(host, harness, thread, {
    sessionKey: sessionKey ?? `${harness.id}:${thread.nativeId}`,
    tell: (sentence) => notices.push(sentence),
  });
  if (!isGoverned) {
    const binding = adoptedBinding(host, session, thread.nativeId);
    writeBinding(session, harness.id, binding, host.store.shared);
  }
  host.logger.info("native thread adopted", {
    runtime: harness.id,
    nativeId: thread.nativeId,
    sessionId: session.sessionId,
    entries: session.entryCount,
    governs: isGoverned,
  });
  return { session, goesOn: isGoverned ? "context" : "thread", told: notices };
}

/** Throws `runtime_unknown`; a problem of the program is in the report. */
export async function nativeStatus(
  host: AgentHost,
  { runtime, signal, ...place }: Asked & { sessionKey?: string; cwd?: string },
): Promise<NativeStatus> {
  const harness = harnessOf(host, runtime);
  const sessionKey = sessionKeyOf(host, place);
  const record = host.store.find(sessionKey);
  const boundTo = record && readBinding(record, harness.id, host.store.shared)?.nativeId;
  const adoptedFrom = record && adoptedThread(record, harness);
  const base = { runtime: harness.id, sessionKey, ...defined({ boundTo, adoptedFrom }) };
  try {
    const program = await harness.program?.(signal);
    return program ? { ...base, program } : base;
  } catch (error) {
    return { ...base, problem: toPagurusError(error).message };
  }
}

/** Throws `runtime_unknown`, `usage_invalid`. */
export async function nativeTools(
  host: AgentHost,
  { runtime, ...place }: Asked & { cwd: string; sessionKey?: string },
): Promise<Pick<ToolSet, "specs" | "fingerprint">> {
  const { cwd } = place;
  return hostTools(host, { cwd, sessionKey: sessionKeyOf(host, place) }, [], harnessOf(host, runtime));
}

function importThread(
  { store }: AgentHost,
  harness: AgentHarness,
  { nativeId, cwd, history }: AdoptedThread,
  options: { sessionKey: string; tell: (sentence: string) => void },
): Promise<SessionRecord> {
  if ("file" in history) return store.import(history.file, { ...options, format: history.format });
  return store.import({ runtime: harness.id, nativeId, cwd, messages: history.messages }, options);
}

/** Binding of an adopted thread: through which entry it has the conversation. */
function adoptedBinding(
  host: AgentHost,
  { sessionKey }: SessionRecord,
  nativeId: string,
): Parameters<typeof writeBinding>[2] {
  const reader = host.store.openReader(sessionKey);
  try {
    const anchor = reader.contextMessages().messages.at(-1)?.entryId;
    return { nativeId, state: { adopted: true, ...defined({ anchor }) } };
  } finally {
    reader.close();
  }
}

/** Throws `runtime_unknown`. */
export function harnessOf({ harnesses }: AgentHost, id: string): AgentHarness {
  const harness = harnesses.find((each) => each.id === id || each.aliases?.includes(id) === true);
  if (harness) return harness;
  const known = harnesses.map((each) => each.id).join(", ");
  throw new PagurusError("runtime_unknown", `No agent runtime is called "${id}"; choose one of: ${known}.`);
}

function unsupported({ id }: AgentHarness, what: string): PagurusError {
  return new PagurusError("runtime_unsupported", `The runtime "${id}" ${what}; name another one.`);
}

/** The current sessions that continue a thread or were made from one. */
function sessionsByThread({ store }: AgentHost, harness: AgentHarness): Map<string, SessionRecord> {
  const found = new Map<string, SessionRecord>();
  for (const record of store.list()) {
    if (!record.current) continue;
    for (const id of [adoptedThread(record, harness), readBinding(record, harness.id)?.nativeId])
      if (id !== undefined && !found.has(id)) found.set(id, record);
  }
  return found;
}

/** An import names the session after its source. */
function adoptedThread({ sessionId }: SessionRecord, { id }: AgentHarness): string | undefined {
  return sessionId.startsWith(`${id}-`) ? sessionId.slice(id.length + 1) : undefined;
}

function assertEmpty({ store }: AgentHost, sessionKey: string): void {
  if ((store.find(sessionKey)?.entryCount ?? 0) === 0) return;
  throw new PagurusError(
    "session_exists",
    `The session ${sessionKey} has a conversation already and a thread can only become a new one; name another with --session.`,
    { details: { sessionKey } },
  );
}

function alreadyBound(nativeId: string, { sessionKey, sessionId }: SessionRecord): PagurusError {
  return new PagurusError(
    "session_exists",
    `The thread ${nativeId} is the session ${sessionKey} already; continue there, or delete it first.`,
    { details: { nativeId, sessionKey, sessionId } },
  );
}

/** An agent's own compaction of a session between turns, started by the agent's command for it. */
import { PagurusError } from "@pagurus/contract/errors";
import type {
  HarnessBinding,
  NativeCompaction,
  NativeCompactionRequest,
} from "@pagurus/contract/harness/harness";
import { type Fields, stringOf } from "@pagurus/core/data/record-fields";
import { orAborted } from "@pagurus/core/platform/deadline";
import { compactable, compacted } from "../thread/thread-compaction.ts";
import { RequestRefused, type AgentProcess, type SessionListener } from "./acp-process.ts";
import type { FolderAccess } from "./agents/known-agent.ts";
import { agentFor } from "./agents.ts";
import { refusal } from "./acp-failure.ts";
import type { AcpOptions } from "./acp-options.ts";
import { accessOf } from "./acp-access.ts";
import type { Agents } from "./agent-pool.ts";
import { resumeSession, leave, rest, type Place } from "./acp-sessions.ts";
import { readAcpState, type AcpThreadState } from "./acp-thread.ts";

const COMMAND = "compact";
/** How long an agent may take to list the commands of a resumed session, ms. */
const COMMANDS_MS = 3_000;
const POLL_MS = 50;
/** Timeout for a compaction to end after its cancel, ms. */
const CANCEL_MS = 3_000;

class Watch implements SessionListener {
  compacted = false;
  failure: string | undefined;
  tokens: number | undefined;
  /** Text of the agent, some of which report the outcome there. */
  words = "";

  update(update: Fields): void {
    const { sessionUpdate, status, used, error, content } = update;
    if (sessionUpdate === "usage_update" && typeof used === "number") this.tokens = used;
    if (sessionUpdate === "agent_message_chunk") this.words += stringOf((content as Fields | null)?.["text"]);
    if (sessionUpdate !== "compaction_update") return;
    if (status === "completed") this.compacted = true;
    if (status === "failed" || status === "cancelled")
      this.failure = stringOf(error) || `its compaction was ${String(status)}`;
  }

  permission(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }
}

/** Throws the agent's refusal, `runtime_failed`, `turn_aborted`. */
export async function compactAcpSession(
  binding: HarnessBinding,
  request: NativeCompactionRequest,
  around: { options: AcpOptions; agents: Agents },
): Promise<NativeCompaction> {
  const found = compactable(request, readAcpState(binding), "session");
  if ("reason" in found) return { compacted: false, ...found };
  const { state } = found;
  const { model, signal } = request;
  const agent = agentFor(around.options, state.agentId, model);
  const open = around.agents.holding(binding.nativeId);
  // Another process would be one with other sessions.
  if (!open && agent.known?.keepsPast)
    return { compacted: false, reason: `${agent.label} has not opened this session since it was started` };
  const access = accessOf(agent, { model, cwd: state.cwd }, around.options);
  const place = open ?? (await around.agents.get(agent, access, signal));
  try {
    return await compactAt(place, { nativeId: binding.nativeId, meta: access.folder?.meta }, state, signal);
  } catch (error) {
    throw error instanceof RequestRefused ? refusal(error, place.process) : error;
  } finally {
    around.agents.release(place);
  }
}

async function compactAt(
  place: Place,
  { nativeId, meta }: { nativeId: string; meta: FolderAccess["meta"] | undefined },
  state: AcpThreadState,
  signal: AbortSignal,
): Promise<NativeCompaction> {
  const { process, sessions } = place;
  const { label } = process.agent;
  const wasOpen = sessions.has(nativeId);
  // Resumed without the host's tools, so it is not the session that a turn continues.
  const back = { cwd: state.cwd, tools: undefined, instructions: "", title: "", signal, meta };
  const session = await resumeSession(place, nativeId, back, undefined);
  if (!session)
    return {
      compacted: false,
      reason: "the agent cannot resume the session; the next turn begins a new one",
    };
  const watch = new Watch();
  const unlisten = process.listen(nativeId, watch);
  try {
    if (!(await takesCommand(process, nativeId, signal)))
      return { compacted: false, reason: `${label} has no command /${COMMAND}` };
    const tokensBefore = session.tokens;
    await prompted(process, nativeId, signal);
    if (!watch.compacted)
      return { compacted: false, reason: watch.failure ?? (watch.words.trim() || "the agent made none") };
    session.tokens = watch.tokens;
    const { held: _, ...known } = state;
    const kept = { nativeId, state: { ...known, isCompacted: true } };
    return compacted(kept, { before: tokensBefore, after: watch.tokens });
  } finally {
    unlisten();
    if (wasOpen) rest(place, session);
    else leave(place, session);
  }
}

async function takesCommand(process: AgentProcess, id: string, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + COMMANDS_MS;
  while (process.commandsOf(id) === undefined && performance.now() < until && !signal.aborted)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  return process.commandsOf(id)?.includes(COMMAND) ?? false;
}

/** Throws `turn_aborted` once the agent has ended it, or after the timeout. */
async function prompted(process: AgentProcess, sessionId: string, signal: AbortSignal): Promise<void> {
  const prompt = [{ type: "text", text: `/${COMMAND}` }];
  const answer = process.ask("session/prompt", { sessionId, prompt });
  answer.catch(() => undefined);
  try {
    await orAborted(answer, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    process.notify("session/cancel", { sessionId });
    const late = new Promise((resolve) => setTimeout(resolve, CANCEL_MS).unref());
    await Promise.race([answer, late]).catch(() => undefined);
    throw new PagurusError("turn_aborted", "The compaction was aborted.", { cause: error });
  }
}

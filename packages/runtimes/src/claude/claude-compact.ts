/** Claude Code's own compaction of a bound session between turns, when no engine governs: its `/compact`. */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import type { HarnessBinding } from "@pagurus/contract/harness/harness";
import type { PagurusError } from "@pagurus/contract/errors";
import type { NativeCompaction, NativeCompactionRequest } from "@pagurus/contract/harness/native";
import { countOf, type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { orAborted } from "@pagurus/core/platform/deadline";
import { compactable, compacted } from "../thread/thread-compaction.ts";
import { turnFailure } from "./claude-failure.ts";
import type { TurnSurroundings } from "./claude-place.ts";
import type { Listener } from "./claude-process.ts";
import type { LiveSession } from "./claude-sessions.ts";
import { bindingOf, readClaudeState } from "./claude-thread.ts";

/** System prompt when the session's own is no longer stored. */
const SYSTEM = "You are an agent that works in the user's folder.";

class Watch implements Listener {
  readonly ended: Promise<Fields>;
  tokens: { before: number | undefined; after: number | undefined } | undefined;
  readonly #end = Promise.withResolvers<Fields>();

  constructor() {
    this.ended = this.#end.promise;
    this.ended.catch(() => undefined);
  }

  line(line: Fields): void {
    if (line["type"] === "result") this.#end.resolve(line);
    if (line["subtype"] !== "compact_boundary") return;
    const { pre_tokens, post_tokens } = recordOf(line["compact_metadata"]);
    this.tokens = { before: countOf(pre_tokens), after: countOf(post_tokens) };
  }

  asked(): Promise<object> {
    return Promise.reject(new Error("Requests to the host are refused while Claude Code compacts."));
  }

  closed(error: PagurusError): void {
    this.#end.reject(error);
  }
}

/** Throws `runtime_failed`, `turn_aborted`, and the error of a failed turn. */
export async function compactClaudeSession(
  binding: HarnessBinding,
  request: NativeCompactionRequest,
  around: TurnSurroundings,
): Promise<NativeCompaction> {
  const found = compactable(request, readClaudeState(binding), "session");
  if ("reason" in found) return { compacted: false, ...found };
  const session = await openCompacted(binding.nativeId, request, around);
  if (!session)
    return { compacted: false, reason: "the session's file is gone; the next turn begins a new one" };
  const watch = new Watch();
  const unlisten = session.process.listen(watch);
  try {
    session.process.send({ type: "user", message: { role: "user", content: "/compact" } });
    const result = await orAborted(watch.ended, request.signal);
    if (!watch.tokens) {
      if (result["is_error"] === true) throw turnFailure(result);
      return {
        compacted: false,
        reason: `Claude Code compacted nothing (${stringOf(result["result"]) || "no reason"})`,
      };
    }
    session.tokens = watch.tokens.after;
    session.last = randomUUID();
    const state = { ...found.state, isCompacted: true, last: session.last };
    return compacted(bindingOf(binding.nativeId, state), watch.tokens);
  } catch (error) {
    void around.sessions.end(session.id);
    throw error;
  } finally {
    unlisten();
    around.sessions.rest(session);
  }
}

/** The running session, else the session resumed for this. */
async function openCompacted(
  id: string,
  { model, cwd }: NativeCompactionRequest,
  { sessions, endpoint }: TurnSurroundings,
): Promise<LiveSession | undefined> {
  const running = sessions.running(id);
  if (running) return running;
  const folder = realpathSync(cwd);
  if (sessions.file(id) === undefined) return undefined;
  const system = sessions.systemOf(id) ?? SYSTEM;
  const started = { id, startedAs: "compaction", cwd: folder, system, keeps: true, continuation: undefined };
  return sessions.start(
    { model, maxSteps: 1, thinking: undefined, turn: undefined },
    { ...started, endpoint: endpoint(model), route: undefined },
    true,
  );
}

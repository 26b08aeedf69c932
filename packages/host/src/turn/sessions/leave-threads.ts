/** Native threads that are no longer used: notifies their runtimes. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { AgentHarness, HarnessBinding } from "@pagurus/contract/harness/harness";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { readBinding } from "../../stores/files/bindings.ts";
import type { AgentHost } from "../agent/agent-host.ts";

/** Deadline of a runtime for leaving a thread, ms. */
const LEAVE_THREADS_MS = 5_000;

export interface BoundThread {
  harness: AgentHarness;
  binding: HarnessBinding;
}

/** The threads that the session is bound to, in all runtimes; an unreadable binding is logged as a warning. */
export function boundThreads(host: AgentHost, record: SessionRecord): BoundThread[] {
  return host.harnesses.flatMap((harness) => {
    try {
      const binding = readBinding(record, harness.id);
      return binding ? [{ harness, binding }] : [];
    } catch (error) {
      warn(host, harness, error);
      return [];
    }
  });
}

/** Failures of a runtime are logged as warnings. */
export async function leaveThreads(host: AgentHost, threads: readonly BoundThread[]): Promise<void> {
  for (const { harness, binding } of threads) {
    try {
      await withDeadline(() => harness.reset?.(binding), {
        ms: LEAVE_THREADS_MS,
        label: `Resetting ${harness.id}`,
      });
    } catch (error) {
      warn(host, harness, error);
    }
  }
}

function warn({ logger }: AgentHost, { id }: AgentHarness, error: unknown): void {
  logger.warn("native thread not left", { runtime: id, code: toPagurusError(error).code });
}

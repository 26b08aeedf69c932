/** Native threads that nobody goes on with: their runtimes are told. */
import { toPagurusError } from "../contract/errors.ts";
import type { AgentHarness, HarnessBinding } from "../contract/harness.ts";
import type { SessionRecord } from "../contract/writer.ts";
import { withDeadline } from "../platform/deadline.ts";
import { readBinding } from "../session/bindings.ts";
import type { AgentHost } from "./scope.ts";

/** Longest time that a runtime may take to leave a thread, ms. */
const LEAVE_MS = 5_000;

export interface BoundThread {
  harness: AgentHarness;
  binding: HarnessBinding;
}

/** The threads of all runtimes that the session is bound to; one whose binding cannot be read is warned of. */
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

/** What a runtime makes of it is warned of, and fails nothing. */
export async function leaveThreads(host: AgentHost, threads: readonly BoundThread[]): Promise<void> {
  for (const { harness, binding } of threads) {
    try {
      await withDeadline(() => harness.reset?.(binding), { ms: LEAVE_MS, label: `Resetting ${harness.id}` });
    } catch (error) {
      warn(host, harness, error);
    }
  }
}

function warn({ logger }: AgentHost, { id }: AgentHarness, error: unknown): void {
  logger.warn("native thread not left", { runtime: id, code: toPagurusError(error).code });
}

/** The engine's own report, for `status` and for the gauge at the end of a turn. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { StatusReport } from "@pagurus/contract/host/status";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { pluginFailure } from "../guard/plugin-failure.ts";
import { defined } from "@pagurus/core/data/defined";

/** Deadline of an engine's status call, ms. */
const STATUS_DEADLINE_MS = 5_000;

export interface ReportPlace {
  sessionId: string;
  sessionKey: string;
  tokenBudget: number | undefined;
}

/** Also called before the session exists, since debts belong to the agent. Never throws: a failure is the problem of the report. */
export async function engineReport(
  engine: ContextEngine | undefined,
  { tokenBudget, ...session }: ReportPlace,
): Promise<Pick<StatusReport["engine"], "state" | "stateProblem">> {
  if (!engine?.status) return {};
  const params = { ...session, ...defined({ tokenBudget }) };
  const label = `The engine ${engine.info.id} at status`;
  try {
    return {
      state: (await withDeadline(() => engine.status?.(params), { ms: STATUS_DEADLINE_MS, label })) ?? {},
    };
  } catch (error) {
    return { stateProblem: pluginFailure(error).message };
  }
}

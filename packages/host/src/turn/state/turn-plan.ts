/** The plan of a turn: sent to every channel, and recorded in the transcript for `status` and `/plan`. */
import type { PlanFact } from "@pagurus/contract/host/skill";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { Plan } from "../../tool/plan-tool.ts";
import type { Admitted } from "./admitted.ts";
import { defined } from "@pagurus/core/data/defined";

/** `customType` of a plan entry; the newest of the path counts. */
const PLAN_ENTRY = "pagurus.plan";

export function showPlan(
  { recorder, channel }: Pick<Admitted, "recorder" | "channel">,
  { explanation, steps }: Plan,
): void {
  const plan = { ...defined({ explanation }), steps };
  recorder.note(PLAN_ENTRY, plan);
  channel.emit({ type: "plan.updated", ...plan });
}

/** The plan of an entry; undefined for any other entry. */
export function planFact(entry: TranscriptEntry): PlanFact | undefined {
  if (entry.type !== "custom" || entry.customType !== PLAN_ENTRY) return undefined;
  return { turnId: entry.turnId ?? "", timestamp: entry.timestamp, ...(entry.data as Plan) };
}

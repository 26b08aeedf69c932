/** The plan of a turn: every channel is told of it, and the transcript keeps it for `status` and `/plan`. */
import type { TurnEvent } from "../contract/events.ts";
import type { PlanFact } from "../contract/skill.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";
import type { Plan } from "../tool/plan-tool.ts";

/** `customType` of an entry that holds a plan; the newest of the path counts. */
const PLAN_ENTRY = "pagurus.plan";

/** Made before the turn can write anything down; `recordWith` says where to. */
export class PlanBoard {
  readonly #emit: (event: TurnEvent) => void;
  #record: ((customType: string, data: Record<string, unknown>) => void) | undefined;

  constructor(emit: (event: TurnEvent) => void) {
    this.#emit = emit;
  }

  recordWith(record: (customType: string, data: Record<string, unknown>) => void): void {
    this.#record = record;
  }

  show({ explanation, steps }: Plan): void {
    const plan = { ...(explanation === undefined ? {} : { explanation }), steps };
    this.#record?.(PLAN_ENTRY, plan);
    this.#emit({ type: "plan.updated", ...plan });
  }
}

/** The plan that an entry holds; undefined for any other entry. */
export function planFact(entry: TranscriptEntry): PlanFact | undefined {
  if (entry.type !== "custom" || entry.customType !== PLAN_ENTRY) return undefined;
  return { turnId: entry.turnId ?? "", timestamp: entry.timestamp, ...(entry.data as Plan) };
}

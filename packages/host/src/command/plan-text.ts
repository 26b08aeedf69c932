import type { PlanStep } from "@pagurus/contract/host/events";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine } from "./layout.ts";

/** The parts of a plan that every channel shows. */
interface ShownPlan {
  explanation?: string;
  steps: readonly PlanStep[];
}

const MARKS = { pending: "[ ]", inProgress: "[>]", completed: "[x]" } as const;

/** The explanation, if any, and a line per step. */
export function planLines({ explanation, steps }: ShownPlan): string[] {
  return [
    ...(explanation === undefined ? [] : [oneLine(explanation, Infinity)]),
    ...steps.map(({ step, status }) => `${MARKS[status]} ${oneLine(step, Infinity)}`),
  ];
}

/** `2 of 5 steps done; now: write the tests`. */
export function planSummary({ steps }: ShownPlan): string {
  const done = steps.filter(({ status }) => status === "completed").length;
  const now = steps.find(({ status }) => status === "inProgress");
  const at = now === undefined ? "" : `; now: ${oneLine(now.step, 100)}`;
  return `${done} of ${plural(steps.length, "step")} done${at}`;
}

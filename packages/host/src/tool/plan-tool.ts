/** `update_plan`: shows the agent's plan to the user. It has no other effect. */
import type { PlanStep, TurnEvent } from "@pagurus/contract/host/events";
import { failedOutcome, textOutcome } from "./host-tool.ts";
import type { ExtraTool } from "./toolset.ts";

/** A runtime with its own plan tool lists it among its `nativeTools`. */
const PLAN_TOOL = "update_plan";

export type Plan = Omit<Extract<TurnEvent, { type: "plan.updated" }>, "type">;

/** Maximum number of steps: longer plans are refused, longer texts are cut. */
const MOST_STEPS = 50;
const MOST_CHARACTERS = 500;

// eslint-disable-next-line no-control-regex
const UNSEEN = /[\s\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;

/** The names are Codex's, whose models know the tool. */
const STATUS = { pending: "pending", in_progress: "inProgress", completed: "completed" } as const;

const PLAN_PARAMETERS = {
  type: "object",
  properties: {
    explanation: { type: "string" },
    plan: {
      type: "array",
      items: {
        type: "object",
        properties: {
          step: { type: "string" },
          status: { type: "string", enum: Object.keys(STATUS) },
        },
        required: ["step", "status"],
      },
    },
  },
  required: ["plan"],
  additionalProperties: false,
};

/** Calls `show` with each complete plan. */
export function createPlanTool(show: (plan: Plan) => void): ExtraTool {
  return {
    name: PLAN_TOOL,
    description: "Show the user your plan for work of several steps; send it whole each time.",
    parameters: PLAN_PARAMETERS,
    readOnly: true,
    execute: (params) => {
      const plan = planOf(params);
      if ("problem" in plan) return Promise.resolve(failedOutcome(plan.problem));
      show(plan);
      return Promise.resolve(textOutcome("The user sees the plan."));
    },
  };
}

/** Arguments that fit the schema, as a plan. */
function planOf(params: Record<string, unknown>): Plan | { problem: string } {
  const { explanation } = params;
  const sent = params["plan"] as { step: string; status: keyof typeof STATUS }[];
  if (sent.length > MOST_STEPS)
    return { problem: `The plan has ${sent.length} steps; ${MOST_STEPS} is the most. Join some of them.` };
  const steps = sent.map(({ step, status }): PlanStep => ({ step: short(step), status: STATUS[status] }));
  if (steps.some(({ step }) => step === ""))
    return { problem: "A step of the plan is empty; say what it is." };
  const why = typeof explanation === "string" ? short(explanation) : "";
  return { ...(why === "" ? {} : { explanation: why }), steps };
}

/** In one line, without control or direction characters. */
function short(text: string): string {
  const line = text.toWellFormed().replace(UNSEEN, " ").trim();
  const characters = Array.from(line);
  if (characters.length <= MOST_CHARACTERS) return characters.join("");
  return `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}

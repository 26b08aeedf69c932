/** The question at a cost limit: whether the person allows some more, before the request that it refuses fails. */
import type { PermissionQuestion } from "@pagurus/contract/host/run";
import { formContent, formLines } from "@pagurus/core/data/form-text";
import { orAborted } from "@pagurus/core/platform/deadline";
import type { Admitted } from "../state/admitted.ts";
import { CostLimitReached, limitDollars, type Allowance, type CostRequest } from "../cost/cost-limits.ts";

/** Part of a limit that is offered when it is reached. */
const SHARE = 0.25;

/** As `CostGate.before`, but the person may raise a limit first. */
export async function affordable(
  admitted: Pick<Admitted, "cost" | "host" | "signal" | "request" | "sessionKey" | "cwd">,
  request: CostRequest,
): Promise<Allowance> {
  for (;;) {
    try {
      return admitted.cost.before(request);
    } catch (error) {
      if (!(error instanceof CostLimitReached) || !mayAsk(admitted)) throw error;
      const isRaised = await orAborted(
        error.raise(() => ask(admitted, error)),
        admitted.signal,
      );
      if (!isRaised) throw error;
    }
  }
}

/** Whether a person waits for the turn who may spend more. */
function mayAsk({ host, request }: Pick<Admitted, "host" | "request">): boolean {
  const { heartbeat, oneShot, audience } = request;
  return host.askPermission !== undefined && !heartbeat && !oneShot && audience === undefined;
}

/** The dollars that the person allows; undefined for a no, and where the question fails. */
async function ask(
  { host, sessionKey, cwd, signal }: Parameters<typeof affordable>[0],
  reached: CostLimitReached,
): Promise<number | undefined> {
  const question = questionOf(reached);
  try {
    const answer = await host.askPermission?.({ ...question, sessionKey, cwd, signal });
    if (typeof answer !== "object" || !("content" in answer)) return undefined;
    const read = formContent(question.form, answer.content);
    return "problem" in read ? undefined : Number(read.content["dollars"]);
  } catch {
    // The request fails with the limit's own error.
    return undefined;
  }
}

const SCOPES = { turn: "this turn", session: "this session", day: "this session today" } as const;

function questionOf({ refused }: CostLimitReached) {
  const { limit, most, spent, next, label } = refused;
  const least = roundedUp(spent + next - most);
  const offered = Math.max(roundedUp(most * SHARE), roundedUp(2 * least));
  const field = { type: "number", title: "US dollars more", default: offered, minimum: least };
  const form = { type: "object", properties: { dollars: field } };
  const summary = [
    `The cost limit of ${limitDollars(most)} for the ${limit} is reached: ${limitDollars(spent)} are spent, and ${label} would cost ${limitDollars(next)}.`,
    `Allow ${limitDollars(offered)} more for ${SCOPES[limit]}, or stop?`,
    ...formLines(form),
  ].join("\n");
  const accept = { label: `Allow ${limitDollars(offered)} more`, content: { dollars: offered } };
  return { toolName: "cost limit", summary, form, accept } satisfies Partial<PermissionQuestion>;
}

/** Dollars with two digits after the point, or with two significant ones where that is finer. */
function roundedUp(amount: number): number {
  const digits = amount >= 0.1 || amount <= 0 ? 2 : 1 - Math.floor(Math.log10(amount));
  const scale = 10 ** digits;
  // Sums of fractions may lie a trifle above what they mean.
  return Number((Math.ceil(amount * scale - 1e-6) / scale).toFixed(digits));
}

/** A request of a turn's tool to a direct surface, within the turn's cost limits. */
import { isPagurusError } from "@pagurus/contract/errors";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { AnswerUnits } from "@pagurus/core/model/surfaces/answer-units";
import {
  callSurface,
  type SurfaceAnswer,
  type SurfaceProgress,
  type SurfaceRequest,
} from "@pagurus/core/model/surfaces/surface-call";
import {
  answeredCost,
  describeAsk,
  estimatedCost,
  type SurfaceAsk,
} from "@pagurus/core/model/surfaces/surface-cost";
import { surfaceModel } from "@pagurus/core/model/surfaces/surface-models";
import type { CostGate } from "../cost/cost-limits.ts";

export interface AskedSurface {
  /** Ref or alias of the model. */
  ref: string;
  ask: SurfaceAsk;
  /** `id`: the model's id at its provider. */
  form(id: string): SurfaceRequest;
}

export interface PaidAnswer {
  answer: SurfaceAnswer;
  model: ResolvedModel;
}

export interface SurfacePayer {
  cost: Pick<CostGate, "reserve" | "paid" | "noteUnpriced">;
  /** Called with the reason why a cost could not be written. */
  onUnwritten(reason: string): void;
}

interface Place {
  config: PagurusConfig;
  env: Readonly<Record<string, string | undefined>>;
  payer?: SurfacePayer | undefined;
}

/** Whether a request that failed costs its estimate: its provider does the work also if the answer is not taken or not read to its end. */
function isOwed({ isSent, status }: SurfaceProgress, error: unknown): boolean {
  if (status !== undefined) return status >= 200 && status < 300;
  const isGivenUp =
    isPagurusError(error) && (error.code === "turn_aborted" || error.code === "deadline_exceeded");
  return isSent && isGivenUp;
}

/** Throws `cost_limit` before anything is sent, and as `surfaceModel` and `callSurface`. */
export async function paidSurface(
  { config, env, payer }: Place,
  { ref, ask, form }: AskedSurface,
  signal: AbortSignal,
): Promise<PaidAnswer> {
  const model = surfaceModel(ref, ask.surface, { config, env });
  const { info } = model;
  const cost = estimatedCost(info, ask);
  const allowed = payer?.cost.reserve({ cost, label: describeAsk(info, ask), ref: info.ref });
  const pay = (paid: number | undefined): void => {
    if (paid === undefined) return payer?.cost.noteUnpriced(info.ref);
    const unwritten = payer?.cost.paid(paid, ask.surface);
    if (unwritten !== undefined) payer?.onUnwritten(unwritten);
  };
  const progress: SurfaceProgress = { isSent: false };
  try {
    const answer = await callSurface(model, form(info.id), signal, progress);
    const units = new AnswerUnits(answer.type);
    units.take(answer.bytes);
    pay(answeredCost(info, ask, units.units));
    return { answer, model };
  } catch (error) {
    if (isOwed(progress, error)) pay(cost);
    throw error;
  } finally {
    allowed?.done();
  }
}

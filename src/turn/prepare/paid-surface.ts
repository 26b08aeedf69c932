/** A request of a turn's tool to a direct surface, within the turn's cost limits. */
import type { PagurusConfig } from "../../config/config-types.ts";
import type { ResolvedModel } from "../../model/provider-types.ts";
import { AnswerUnits } from "../../model/surfaces/answer-units.ts";
import { callSurface, type SurfaceAnswer, type SurfaceRequest } from "../../model/surfaces/surface-call.ts";
import {
  answeredCost,
  describeAsk,
  estimatedCost,
  type SurfaceAsk,
} from "../../model/surfaces/surface-cost.ts";
import { surfaceModel } from "../../model/surfaces/surface-models.ts";
import type { CostGate } from "../run/cost-limits.ts";

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
  cost: Pick<CostGate, "reserve" | "paid">;
  /** Called with the reason why a cost could not be written. */
  onUnwritten(reason: string): void;
}

interface Place {
  config: PagurusConfig;
  env: Readonly<Record<string, string | undefined>>;
  payer?: SurfacePayer | undefined;
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
  try {
    const answer = await callSurface(model, form(info.id), signal);
    const units = new AnswerUnits(answer.type);
    units.take(answer.bytes);
    const paid = answeredCost(info, ask, units.units);
    const unwritten = paid === undefined ? undefined : payer?.cost.paid(paid, ask.surface);
    if (unwritten !== undefined) payer?.onUnwritten(unwritten);
    return { answer, model };
  } finally {
    allowed?.done();
  }
}

/** How contexts reach the model in a turn on Codex, and its route through the model gateway. */
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AssembledContext, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { WireRoute } from "@pagurus/contract/harness/wire";
import type { CodexOptions } from "./codex-options.ts";
import type { WireRoutes } from "./wire/codex-wire.ts";

/** Codex's protocol with a model. */
const WIRE_API = "openai-responses";
export type PlaceSeam = "thread" | "projection" | "wire";

type RouteParts = Pick<CodexOptions, "endpoint"> & { routes: WireRoutes };

export function seamOf(
  turn: HarnessTurn,
  context: Pick<AssembledContext, "projection" | "degraded">,
  { seam }: Pick<CodexOptions, "seam">,
): PlaceSeam {
  if (!turn.engine.governs) return "thread";
  // The gateway assembles for each request.
  if (seam === "wire") return seam;
  if (context.degraded !== undefined) return "thread";
  return seam ?? (context.projection?.epoch === undefined ? "projection" : "thread");
}

/** The turn's route through the gateway, or the reason why there is none. */
async function routeFor(turn: HarnessTurn, { routes, endpoint }: RouteParts): Promise<WireRoute | string> {
  if (!routes.canOpen) return "the host has no model gateway";
  if (endpoint(turn.model) === undefined)
    return `Codex's own login cannot use the model gateway (configure a host key for ${turn.model.ref})`;
  try {
    return await routes.of(turn.thread.binding()?.nativeId, turn.sessionKey);
  } catch (error) {
    return `the model gateway could not be opened: ${toPagurusError(error).message.replace(/\.$/, "")}`;
  }
}

/**
 * The turn's route through the gateway. Undefined when it needs no route, or falls back with a degradation. A model of another protocol is
 * always called through the gateway. Throws `runtime_unsupported`.
 */
export async function routeOfTurn(
  turn: HarnessTurn,
  seam: PlaceSeam,
  around: RouteParts,
): Promise<WireRoute | undefined> {
  const isForeign = turn.model.api !== WIRE_API;
  if (seam !== "wire" && !isForeign) return undefined;
  const route = await routeFor(turn, around);
  if (typeof route !== "string") return route;
  if (isForeign) {
    const sentence = `Codex speaks the Responses API and ${turn.model.ref} another protocol, and ${route}; choose another runtime or model.`;
    throw new PagurusError("runtime_unsupported", sentence);
  }
  turn.io.degrade("assemble", `the context goes into the thread, not over the wire: ${route}`);
  return undefined;
}

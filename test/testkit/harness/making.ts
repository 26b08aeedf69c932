/** How a harness that is good is made, and how one thing of it is spoilt. */
import type { AssembledContext, AgentHarness, HarnessTurn } from "../../../src/contract/harness.ts";
import type { AgentMessage } from "../../../src/contract/message.ts";
import type { ToolOutcome } from "../../../src/contract/tool.ts";
import { resolveModel } from "../../../src/model/resolve.ts";
import { streamModel } from "../../../src/model/stream.ts";
import type { ModelRequest } from "../../../src/model/types.ts";
import { createEmbeddedHarness } from "../../../src/runtimes/embedded/harness.ts";
import type { HarnessPlace } from "../../../src/testkit/index.ts";

export const MUTANT = "mutant";

export type Make = (place: HarnessPlace) => AgentHarness;
const INPUT = ["text", "image"] as const;
type TurnChanges = Partial<HarnessTurn>;

/** Loop of the embedded runtime, with a model of the suite. */
export function sound(
  { endpoint }: HarnessPlace,
  before?: (request: ModelRequest) => Promise<void>,
): AgentHarness {
  const models = [{ id: endpoint.modelId, contextWindow: 200_000, maxTokens: 4_000, input: [...INPUT] }];
  const { baseUrl, apiKey } = endpoint;
  const provider = { api: "openai-responses" as const, baseUrl, apiKey, models };
  const config = { models: { providers: { suite: provider } } };
  const harness = createEmbeddedHarness(async function* (model, request) {
    await before?.(request);
    yield* streamModel(resolveModel(model.ref, config, {}), request);
  });
  const { runTurn, seam, execution, contract, capabilities, supports } = harness;
  return { id: MUTANT, label: "Mutant", runTurn, seam, execution, contract, capabilities, supports };
}

/** The turn with some members replaced; what replaces one may call what it replaces. */
function changedTurn(turn: HarnessTurn, changes: TurnChanges): HarnessTurn {
  return new Proxy(turn, {
    get: (target, key) => {
      if (Object.hasOwn(changes, key)) return changes[key as keyof HarnessTurn];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

export function told(changes: Partial<AgentHarness>): Make {
  return (place) => ({ ...sound(place), ...changes });
}

/** Each turn of it is changed; the function is called once for a harness, and its answer for each turn. */
export function inTurns(change: () => (turn: HarnessTurn) => TurnChanges): Make {
  return (place) => {
    const harness = sound(place);
    const ofTurn = change();
    return { ...harness, runTurn: (turn) => harness.runTurn(changedTurn(turn, ofTurn(turn))) };
  };
}

export function assembling(
  change: (context: AssembledContext, turn: HarnessTurn) => Partial<AssembledContext>,
): Make {
  return inTurns(() => (turn) => ({
    assemble: async (request) => {
      const context = await turn.assemble(request);
      return { ...context, ...change(context, turn) };
    },
  }));
}

/** Messages of the mirror that are lost. */
export function losing(isLost: (message: AgentMessage) => boolean): Make {
  return inTurns(() => (turn) => ({
    emit: (event) =>
      event.type === "message" && isLost(event.message) ? Promise.resolve() : turn.emit(event),
  }));
}

/** Another outcome of each tool call. */
export function calling(change: (outcome: ToolOutcome) => ToolOutcome): Make {
  return inTurns(() => ({ tools }) => ({
    tools: { ...bound(tools), call: async (call, signal) => change(await tools.call(call, signal)) },
  }));
}

export function bound(tools: HarnessTurn["tools"]): HarnessTurn["tools"] {
  return {
    specs: tools.specs,
    fingerprint: tools.fingerprint,
    call: (call, signal) => tools.call(call, signal),
    permits: (call, signal) => tools.permits(call, signal),
  };
}

/** What comes of a turn is changed. */
export function ending(change: (turn: HarnessTurn, run: () => Promise<Ended>) => Promise<Ended>): Make {
  return (place) => {
    const harness = sound(place);
    return { ...harness, runTurn: (turn) => change(turn, () => harness.runTurn(turn)) };
  };
}

export type Ended = Awaited<ReturnType<AgentHarness["runTurn"]>>;

/** Longer than an abort may take in the runs of these harnesses, ms. */
const LATE_MS = 1_200;

export function late(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener("abort", () => setTimeout(() => controller.abort(), LATE_MS), { once: true });
  return controller.signal;
}

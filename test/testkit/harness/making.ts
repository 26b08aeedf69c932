/** Builds sound harnesses, and variants with one defect. */
import type {
  AgentHarness,
  AssembledContext,
  HarnessTurn,
  HarnessTurnResult,
  TurnContext,
  TurnIo,
} from "../../../packages/contract/src/harness/harness.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import { resolveModel } from "../../../packages/core/src/model/resolve.ts";
import { streamModel } from "../../../packages/core/src/model/model-stream.ts";
import type { ModelRequest } from "../../../packages/core/src/model/provider-types.ts";
import { createEmbeddedHarness } from "../../../packages/host/src/runtimes/embedded/embedded-harness.ts";
import type { HarnessPlace } from "../../../packages/testkit/src/index.ts";

export const MUTANT = "mutant";

export type Make = (place: HarnessPlace) => AgentHarness;
const INPUT = ["text", "image"] as const;
/** Members of the turn and of its parts. */
type TurnChanges = Partial<Omit<HarnessTurn, "context" | "thread" | "io"> & TurnContext & TurnIo>;

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
  const { start, seam, execution, contract, capabilities, supports } = harness;
  return { id: MUTANT, label: "Mutant", start, seam, execution, contract, capabilities, supports };
}

/** The turn with some members replaced; a replacement may call the original. */
function changedTurn(turn: HarnessTurn, changes: TurnChanges): HarnessTurn {
  const context = replaced(turn.context, changes);
  const io = replaced(turn.io, changes);
  return replaced(turn, { ...changes, context, io });
}

function replaced<T extends object>(part: T, changes: object): T {
  return new Proxy(part, {
    get: (target, key) => Reflect.get(Object.hasOwn(changes, key) ? changes : target, key) as unknown,
  });
}

export function declaring(changes: Partial<AgentHarness>): Make {
  return (place) => ({ ...sound(place), ...changes });
}

/** Changes each turn; the outer function is called once per harness, its result for each turn. */
export function inTurns(change: () => (turn: HarnessTurn) => TurnChanges): Make {
  return (place) => {
    const harness = sound(place);
    const ofTurn = change();
    return { ...harness, start: (turn) => harness.start(changedTurn(turn, ofTurn(turn))) };
  };
}

export function assembling(
  change: (context: AssembledContext, turn: HarnessTurn) => Partial<AssembledContext>,
): Make {
  return inTurns(() => (turn) => ({
    assemble: async (request) => {
      const context = await turn.context.assemble(request);
      return { ...context, ...change(context, turn) };
    },
  }));
}

/** Messages of the mirror that are lost. */
export function losing(isLost: (message: AgentMessage) => boolean): Make {
  return inTurns(() => (turn) => ({
    emit: (event) =>
      event.type === "message" && isLost(event.message) ? Promise.resolve() : turn.io.emit(event),
  }));
}

/** Changes every message: in the requests to the model, or in the transcript. */
export function changingMessages(
  change: (messages: readonly AgentMessage[]) => AgentMessage[],
  where: "sent" | "recorded",
): Make {
  if (where === "sent")
    return (place) => sound(place, async (request) => void (request.messages = change(request.messages)));
  return inTurns(() => (turn) => ({
    emit: (event) => {
      if (event.type !== "message") return turn.io.emit(event);
      const [message = event.message] = change([event.message]);
      return turn.io.emit({ ...event, message });
    },
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

/** Changes the result of a turn. */
export function ending(change: (turn: HarnessTurn, run: () => Promise<Ended>) => Promise<Ended>): Make {
  return (place) => {
    const harness = sound(place);
    const start: AgentHarness["start"] = (turn) => {
      const run = harness.start(turn);
      return {
        run: () => change(turn, () => run.run()),
        continueWith: (inputs) => change(turn, () => run.continueWith(inputs)),
      };
    };
    return { ...harness, start };
  };
}

export type Ended = HarnessTurnResult;

/** Delay longer than the abort limit in the runs of these harnesses, ms. */
const LATE_MS = 1_200;

export function late(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener("abort", () => setTimeout(() => controller.abort(), LATE_MS), { once: true });
  return controller.signal;
}

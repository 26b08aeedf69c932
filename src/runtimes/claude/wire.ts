/**
 * Turns whose context reaches Claude Code's model through the host's gateway. What the program holds is its own affair then: the
 * gateway tells the model the conversation, and one program goes on for all turns of a session.
 */
import { randomUUID } from "node:crypto";
import { toPagurusError } from "../../contract/errors.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { WireRoute } from "../../contract/wire.ts";
import { hashOf } from "../../native/held.ts";
import { parted, toNative } from "./history.ts";
import type { ClaudeOptions } from "./options.ts";
import { cwdOf, speakerOf, wordsOf, type Place, type TurnSurroundings } from "./place.ts";
import type { LiveSession } from "./sessions.ts";
import { bindingOf, readState, startedWith, type ThreadState } from "./thread.ts";

/** The program that a turn runs in, or what a new one is started for. */
export interface WireSeat {
  state: ThreadState;
  id: string;
  /** Why it is a new one. */
  reason: string;
  at: { session: LiveSession } | { route: WireRoute };
}

function stateOf(turn: HarnessTurn, around: ClaudeOptions): ThreadState {
  return {
    epoch: undefined,
    fingerprint: undefined,
    tools: turn.tools.fingerprint,
    instructions: hashOf(turn.instructions),
    model: startedWith(turn, around.endpoint(turn.model)),
    isWired: true,
  };
}

function startedAs({ model, tools, instructions }: ThreadState): string {
  return ["wire", model, tools, instructions].join(" ");
}

/** Why the turn's context cannot go through the gateway although it is configured to. */
function refusal(turn: HarnessTurn, { gateway, endpoint }: TurnSurroundings): string | undefined {
  if (!gateway) return "this host has no model gateway";
  if (endpoint(turn.model) === undefined)
    return "Claude Code's own login is used, and the model gateway serves API keys only";
  return undefined;
}

/**
 * Where the turn goes on over the gateway; undefined where it does not, which is a degradation where it was to. Throws what
 * resolving the model throws.
 */
export async function takeSeat(turn: HarnessTurn, around: TurnSurroundings): Promise<WireSeat | undefined> {
  const { context, gateway, sessions } = around;
  if (context !== "wire" || !turn.engine.governs) return undefined;
  const refused = refusal(turn, around);
  if (refused !== undefined) return without(turn, refused);
  const state = stateOf(turn, around);
  const binding = turn.binding();
  const known = binding && readState(binding);
  const running = binding && known?.isWired === true ? sessions.running(binding.nativeId) : undefined;
  const isEnded = known?.openTurn === undefined;
  if (running && isEnded && running.startedAs === startedAs(state))
    return { state, id: running.id, reason: "", at: { session: running } };
  try {
    const made = await gateway?.();
    const route = await made?.open({
      api: "anthropic-messages",
      sessionKey: turn.sessionKey,
      runtime: "claude-cli",
      saysAddition: true,
    });
    if (!route) return undefined;
    const reason = reasonOf(known, running !== undefined);
    const isSame = binding && known?.isWired === true && isEnded && !running;
    if (isSame) await sessions.end(binding.nativeId);
    else if (binding) void sessions.leave(binding.nativeId);
    return { state, id: isSame ? binding.nativeId : randomUUID(), reason, at: { route } };
  } catch (error) {
    return without(turn, toPagurusError(error, "gateway_failed").message);
  }
}

function reasonOf(known: ThreadState | undefined, isRunning: boolean): string {
  if (!known) return "no session is bound";
  if (known.openTurn !== undefined) return "a turn in the session did not end as it should";
  return isRunning ? "another model, tool catalog or instructions" : "its program is gone";
}

function without(turn: HarnessTurn, reason: string): undefined {
  turn.degrade(
    "assemble",
    `The context of this turn goes by Claude Code's session file and not through the model gateway: ${reason.replace(/\.$/, "")}.`,
  );
}

/** The program, with what it is told: the input alone, and where it is new in the midst of a turn, what was said in that. */
export async function openWirePlace(
  turn: HarnessTurn,
  { id, state, reason, at }: WireSeat,
  { sessions, endpoint, log }: TurnSurroundings,
): Promise<Place> {
  turn.bind(bindingOf(id, { ...state, openTurn: turn.turnId }));
  const { head, input, goesOn } = parted(toNative(turn.said(), speakerOf(turn)));
  if ("session" in at) {
    sessions.use(at.session, turn);
    return { session: at.session, input, state, held: undefined };
  }
  const { model, thinking, maxSteps, instructions } = turn;
  const cwd = cwdOf(turn);
  try {
    if (head.length > 0) sessions.author(id, cwd, model.id, head);
  } catch (error) {
    await at.route.close();
    throw error;
  }
  const request = {
    id,
    cwd,
    system: instructions,
    startedAs: startedAs(state),
    endpoint: endpoint(model),
    route: at.route,
    keeps: false,
    goesOn: goesOn ? wordsOf(input) : undefined,
  };
  const session = await sessions.start({ model, thinking, maxSteps, turn }, request, head.length > 0);
  log.debug("claude session started", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    nativeId: id,
    reason,
    seam: "wire",
  });
  return { session, input: goesOn ? [] : input, state, held: undefined };
}

/**
 * Turns whose context reaches Claude Code's model through the host's gateway. The content of the native session does not
 * matter then: the gateway sends the model the conversation, and one program serves all turns of a session.
 */
import { randomUUID } from "node:crypto";
import { toPagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { WireRoute } from "@pagurus/contract/harness/wire";
import { hashOf } from "../thread/thread-state.ts";
import { parted, toNative } from "./claude-history.ts";
import type { ClaudeOptions } from "./claude-options.ts";
import { cwdOf, speakerOf, wordsOf, type Place, type TurnSurroundings } from "./claude-place.ts";
import type { LiveSession } from "./claude-sessions.ts";
import { bindingOf, readClaudeState, startedWith, type ClaudeThreadState } from "./claude-thread.ts";

/** The running program for a turn, or the start of a new one. */
export interface WirePlan {
  state: ClaudeThreadState;
  id: string;
  /** Why it is a new one. */
  reason: string;
  at: { session: LiveSession } | { route: WireRoute };
}

function stateOf(turn: HarnessTurn, around: ClaudeOptions): ClaudeThreadState {
  return {
    epoch: undefined,
    fingerprint: undefined,
    tools: turn.tools.fingerprint,
    instructions: hashOf(turn.instructions),
    model: startedWith(turn, around.endpoint(turn.model)),
    isWired: true,
  };
}

function startedAs({ model, tools, instructions }: ClaudeThreadState): string {
  return ["wire", model, tools, instructions].join(" ");
}

/** Why the turn cannot use the configured gateway. */
function refusal(turn: HarnessTurn, { gateway, endpoint }: TurnSurroundings): string | undefined {
  if (!gateway) return "this host has no model gateway";
  if (endpoint(turn.model) === undefined)
    return "Claude Code's own login is used, and the model gateway serves API keys only";
  return undefined;
}

/**
 * Plans the turn over the gateway; undefined when it does not use it, which is a degradation if it was configured to. Throws
 * what resolving the model throws.
 */
export async function planWire(turn: HarnessTurn, around: TurnSurroundings): Promise<WirePlan | undefined> {
  const { context, gateway, sessions } = around;
  if (context !== "wire" || !turn.engine.governs) return undefined;
  const refused = refusal(turn, around);
  if (refused !== undefined) return without(turn, refused);
  const state = stateOf(turn, around);
  const binding = turn.thread.binding();
  const known = binding && readClaudeState(binding);
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

function reasonOf(known: ClaudeThreadState | undefined, isRunning: boolean): string {
  if (!known) return "no session is bound";
  if (known.openTurn !== undefined) return "a turn in the session did not end cleanly";
  return isRunning ? "another model, tool catalog or instructions" : "its program is gone";
}

function without(turn: HarnessTurn, reason: string): undefined {
  turn.io.degrade(
    "assemble",
    `The context of this turn is written to Claude Code's session file and not sent through the model gateway: ${reason.replace(/\.$/, "")}.`,
  );
}

/** Opens the program and its input: the input alone, and in a new one in the middle of a turn, the earlier messages of the turn. */
export async function openWirePlace(
  turn: HarnessTurn,
  { id, state, reason, at }: WirePlan,
  { sessions, endpoint, log }: TurnSurroundings,
): Promise<Place> {
  turn.thread.bind(bindingOf(id, { ...state, openTurn: turn.turnId }));
  const { head, input, continues } = parted(toNative(turn.context.messages(), speakerOf(turn)));
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
    continuation: continues ? wordsOf(input) : undefined,
  };
  const session = await sessions.start({ model, thinking, maxSteps, turn }, request, head.length > 0);
  log.debug("claude session started", {
    sessionId: turn.sessionId,
    turnId: turn.turnId,
    nativeId: id,
    reason,
    seam: "wire",
  });
  return { session, input: continues ? [] : input, state, held: undefined };
}

/** Whether an agent keeps the permission mode of a turn: it has to request permission for what the mode does not allow. */
import { PagurusError } from "@pagurus/contract/errors";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { OpenSession } from "./acp-sessions.ts";
import type { Agent } from "./agents.ts";

type Mode = HarnessTurn["permissionMode"];

/** Throws `runtime_unsupported`, before its start, for an agent that never requests permission in a mode that needs it. */
export function checkAsks({ id, label, known }: Agent, mode: Mode): void {
  if (known?.asks !== false || mode === "auto") return;
  throw new PagurusError(
    "runtime_unsupported",
    `${label} never requests permission, so the permission mode "${mode}" cannot be kept; choose the mode "auto" where the agent may do everything, such as in a container, or another agent.`,
    { details: { agentId: id, permissionMode: mode } },
  );
}

/** Mode of the agent's session for a turn; undefined leaves the agent's own. */
export function modeFor({ entry, known }: Agent, mode: Mode): string | undefined {
  return entry.mode ?? known?.modes?.[mode];
}

/**
 * A sentence when the session is in another mode than the wanted one. Throws `runtime_unsupported` when the permission mode would
 * not be kept in it; a mode that the user has named for the agent is the user's decision.
 */
export function otherMode(
  { id, label, entry }: Agent,
  { mode, modes }: Pick<OpenSession, "mode" | "modes">,
  wanted: string | undefined,
  permissionMode: Mode,
): string | undefined {
  if (wanted === undefined || wanted === mode) return undefined;
  const what = `${label} has no mode "${wanted}" and stays in ${mode ?? "its own"}`;
  if (entry.mode !== undefined || permissionMode === "auto" || modes.length === 0) return `${what}.`;
  throw new PagurusError(
    "runtime_unsupported",
    `${what}, in which it may not request what the permission mode "${permissionMode}" asks for; name one of its modes (${modes.join(", ")}) in plugins.entries.acp.config.agents.${id}.mode, or choose the permission mode "auto".`,
    { details: { agentId: id, permissionMode } },
  );
}

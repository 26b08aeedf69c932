/** The tools of the user's MCP servers in a turn. */
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { offerOfCaller } from "./caller-tools.ts";
import type { OuterOffer } from "../agent/outer-port.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { Admitted } from "../state/admitted.ts";

/** A wait up to this is not reported, ms. */
const QUIET_MS = 500;
/** Their share of the model's window together, so that they never fail the turn. */
const SHARE_OF_WINDOW = 0.5;
/** Most names in a sentence. */
const MOST_NAMED = 5;

interface Share {
  tools: OuterOffer["tools"];
  problems: string[];
}

function named(tools: OuterOffer["tools"]): string {
  const names = tools.slice(0, MOST_NAMED).map(({ name }) => name);
  const further = tools.length - names.length;
  return names.join(", ") + (further > 0 ? ` and ${further} more` : "");
}

/** Removes those whose names a plugin's tools have; a duplicate name would fail the turn. */
function without(
  { tools }: Pick<OuterOffer, "tools">,
  others: readonly { name: string }[],
  whose: string,
): Share {
  const taken = new Set(others.map(({ name }) => name));
  const left = tools.filter(({ name }) => taken.has(name));
  return {
    tools: tools.filter(({ name }) => !taken.has(name)),
    problems:
      left.length === 0 ? [] : [`Left out, since ${whose} has tools of the same name: ${named(left)}.`],
  };
}

/** Keeps as many as fit into their share, in their order; the same tools and window give the same selection. */
function withinWindow({ tools, problems }: Share, window: number): Share {
  let left = window * SHARE_OF_WINDOW;
  if (JSON.stringify(tools).length < left) return { tools, problems };
  const kept = tools.filter(({ name, description, parameters }) => {
    const tokens = estimateTokens(name + description + JSON.stringify(parameters));
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
  if (kept.length === tools.length) return { tools, problems };
  const out = tools.filter((tool) => !kept.includes(tool));
  const why = `all tools of MCP servers take more than half of the model's window of ${window} tokens`;
  return {
    tools: kept,
    problems: [
      ...problems,
      `Left out, since ${why}: ${named(out)}; pick some with mcp.servers.<name>.tools.`,
    ],
  };
}

/** A missing server costs its tools, never the turn: each is a degradation. Throws `usage_invalid` for what a caller's tools are not. */
export async function offerForTurn(turn: Admitted): Promise<OuterOffer> {
  const { host, request, model, signal, guard, channel } = turn;
  const detail = "Waiting for MCP servers that are started for the first time.";
  const timer = setTimeout(() => channel.emit({ type: "notice", kind: "mcp", detail }), QUIET_MS);
  try {
    const [offer, callers] = await Promise.all([
      host.outerTools.forTurn(signal),
      offerOfCaller(request.tools, signal),
    ]);
    const added = without({ tools: callers?.tools ?? [] }, offer.tools, "an MCP server of the configuration");
    const free = without({ tools: [...offer.tools, ...added.tools] }, host.pluginTools, "a plugin");
    const { tools, problems } = withinWindow(free, model.contextWindow);
    for (const problem of [...offer.problems, ...(callers?.problems ?? []), ...added.problems, ...problems])
      guard.degrade("tools", problem);
    // A rule is for a name, which may be another tool's by now.
    const names = new Set(tools.map(({ name }) => name));
    return { ...offer, tools, allow: offer.allow.filter(({ tool }) => names.has(tool)) };
  } finally {
    clearTimeout(timer);
  }
}

/** `window`: the model's, tokens. */
export function offerForLook(host: AgentHost, window = Infinity): OuterOffer {
  const offer = host.outerTools.known();
  return { ...offer, tools: withinWindow(without(offer, host.pluginTools, "a plugin"), window).tools };
}

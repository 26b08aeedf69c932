/** Interface for tools from outside the host, such as those of the user's MCP servers. */
import type { PermissionRule } from "@pagurus/core/config/config-types";
import type { ExtraTool } from "../../tool/toolset.ts";

export interface OuterOffer {
  tools: readonly ExtraTool[];
  /** Permission rules that need no prompt. */
  allow: readonly PermissionRule[];
  /** A sentence per missing tool or server. */
  problems: readonly string[];
}

/** Created by `app.ts`. Neither throws. */
export interface OuterTools {
  /** The tools of a turn: waits for servers that have not answered yet, within a limit. */
  forTurn(signal: AbortSignal): Promise<OuterOffer>;
  /** The tools known now, for a view. */
  known(): OuterOffer;
}

const NOTHING: OuterOffer = { tools: [], allow: [], problems: [] };

/** For a host whose configuration has no server. */
export const NO_OUTER_TOOLS: OuterTools = { forTurn: async () => NOTHING, known: () => NOTHING };

/** Tools whose list the host learns from somebody else, such as the user's MCP servers. */
import type { PermissionRule } from "../config/types.ts";
import type { ExtraTool } from "../tool/toolset.ts";

export interface OuterOffer {
  tools: readonly ExtraTool[];
  /** Rules that spare questions. */
  allow: readonly PermissionRule[];
  /** A sentence for each thing that is missing. */
  problems: readonly string[];
}

/** Made by `app.ts`. Neither throws. */
export interface OuterTools {
  /** What a turn gets: what is not known yet is waited for, but not for long. */
  forTurn(signal: AbortSignal): Promise<OuterOffer>;
  /** What is known now, for a look. */
  known(): OuterOffer;
}

const NOTHING: OuterOffer = { tools: [], allow: [], problems: [] };

/** Of a host whose configuration names no server. */
export const NO_OUTER_TOOLS: OuterTools = { forTurn: async () => NOTHING, known: () => NOTHING };

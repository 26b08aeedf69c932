/** The engine's tools for the program's model: an MCP server that the program starts beside its own, with the turn that runs behind it. */
import type { ToolOutcome, ToolSet } from "../../../contract/tool.ts";
import type { WrapTools } from "../../../contract/wrap.ts";

/** An MCP server, as `serveTools` makes one. */
export interface ServedTools {
  readonly server: Omit<WrapTools, "name">;
  /** Never throws. */
  close(): Promise<void>;
}

/** Offers the tools over MCP under that name. Throws `runtime_failed`. */
export type ServeTools = (tools: ToolSet, name: string) => Promise<ServedTools>;

export const TOOLS_NAME = "pagurus";

const NO_TURN: ToolOutcome = {
  content: [
    {
      type: "text",
      text: "No turn of this conversation is followed now, or several are; answer without this tool.",
    },
  ],
  isError: true,
};

/** A set that lives as long as the program. `toolsOf`: those of the turn that a call belongs to. */
export function wrapTools(
  { specs, fingerprint }: Pick<ToolSet, "specs" | "fingerprint">,
  toolsOf: (callId: string) => ToolSet | undefined,
): ToolSet {
  return {
    specs,
    fingerprint,
    call: async (call, signal) => (await toolsOf(call.id)?.call(call, signal)) ?? NO_TURN,
    permits: async () => undefined,
  };
}

/** Offers the engine's tools to the program's model: an MCP server that the program starts like its own, connected to the running turn. */
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";
import type { WrapTools } from "@pagurus/contract/harness/wrap";

/** A running MCP server, as `serveTools` returns it. */
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

/** A tool set that lives as long as the program. `toolsOf`: tools of the turn that a call belongs to. */
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

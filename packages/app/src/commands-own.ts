/** Parts of the host that a command uses outside of any turn; the code of each is loaded at the call. */
import type { CarePlace, LosslessCare } from "@pagurus/lossless/command/care";
import type { McpOptions, McpServerFact, McpServers } from "@pagurus/host/mcp/client/mcp-servers";
import { createFileLogger } from "@pagurus/core/platform/log";

export type { LosslessCare, McpServerFact, McpServers };

/** Maintenance of an agent's store, for `pagurus lossless`. */
export async function losslessCare(place: CarePlace): Promise<LosslessCare> {
  const care = await import("@pagurus/lossless/command/care");
  return new care.LosslessCare(place);
}

/** Creates the MCP servers of a configuration, for `pagurus mcp`. Close them. */
export async function loadMcpServers(): Promise<(options: Omit<McpOptions, "logger">) => McpServers> {
  const mcp = await import("@pagurus/host/mcp/client/mcp-servers");
  return ({ home, ...options }) => {
    const level = options.config.logging?.level ?? "info";
    return new mcp.McpServers({ ...options, home, logger: createFileLogger(home, level) });
  };
}

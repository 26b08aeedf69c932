/** Parts of the host that a command uses outside of any turn; the code of each is loaded at the call. */
import type { CarePlace, LosslessCare } from "./engines/lossless/command/care.ts";
import type { McpOptions, McpServerFact, McpServers } from "./mcp/client/mcp-servers.ts";
import { createFileLogger } from "./platform/log.ts";

export type { LosslessCare, McpServerFact, McpServers };

/** Maintenance of an agent's store, for `pagurus lossless`. */
export async function losslessCare(place: CarePlace): Promise<LosslessCare> {
  const care = await import("./engines/lossless/command/care.ts");
  return new care.LosslessCare(place);
}

/** Creates the MCP servers of a configuration, for `pagurus mcp`. Close them. */
export async function loadMcpServers(): Promise<(options: Omit<McpOptions, "logger">) => McpServers> {
  const mcp = await import("./mcp/client/mcp-servers.ts");
  return ({ home, ...options }) => {
    const level = options.config.logging?.level ?? "info";
    return new mcp.McpServers({ ...options, home, logger: createFileLogger(home, level) });
  };
}

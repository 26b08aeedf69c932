/** Converts the MCP servers that the client names for a session to the form of our configuration. */
import type { McpServer } from "@agentclientprotocol/sdk";
import type { McpServerConfig } from "@pagurus/core/config/config-types";
import type { CallerTools } from "@pagurus/contract/host/run";

/** The tools of a session's servers; `close` stops the servers. */
export interface SessionTools extends CallerTools {
  close(): Promise<void>;
}

export type MakeTools = (servers: Record<string, McpServerConfig>) => SessionTools;

function pairs(entries: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

/** Server configurations by name. A program starts in the session's folder. */
export function serverConfigs(servers: readonly McpServer[], cwd: string): Record<string, McpServerConfig> {
  return Object.fromEntries(
    servers.map((server) => {
      if ("command" in server) {
        const { command, args, env } = server;
        return [server.name, { command, args, env: pairs(env), cwd }];
      }
      const { type, url, headers } = server;
      return [server.name, { type, url, headers: pairs(headers) }];
    }),
  );
}

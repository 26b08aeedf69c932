/** Converts the MCP servers that the client names for a session to the form of our configuration. */
import type { McpServer } from "@agentclientprotocol/sdk";
import type { McpServerConfig } from "@pagurus/core/config/config-types";
import type { CallerTools } from "@pagurus/contract/host/run";
import { invalid } from "./acp-errors.ts";

/** Far more than a person works with: each is a program that is started. */
const MOST_SERVERS = 64;
/** Of all texts of one server. The system starts no program with an argument that is longer. */
const MOST_CHARACTERS = 2 ** 17;

/** The tools of a session's servers; `close` stops the servers. */
export interface SessionTools extends CallerTools {
  close(): Promise<void>;
}

export type MakeTools = (servers: Record<string, McpServerConfig>) => SessionTools;

function pairs(entries: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]));
}

function textsOf(server: McpServer): string[] {
  const pairTexts = (entries: readonly { name: string; value: string }[]): string[] =>
    entries.flatMap(({ name, value }) => [name, value]);
  if ("command" in server) return [server.name, server.command, ...server.args, ...pairTexts(server.env)];
  return [server.name, server.url, ...pairTexts(server.headers)];
}

/** Throws `usage_invalid` for servers that are too many, or one whose texts are too long. */
export function checkServers(servers: readonly McpServer[]): void {
  if (servers.length > MOST_SERVERS)
    throw invalid(`${servers.length} MCP servers are more than ${MOST_SERVERS}; name fewer.`);
  for (const server of servers) {
    const length = textsOf(server).reduce((sum, text) => sum + text.length, 0);
    if (length > MOST_CHARACTERS)
      throw invalid(
        `The MCP server "${server.name.slice(0, 100)}" has ${length} characters, more than ${MOST_CHARACTERS}; shorten its arguments.`,
      );
  }
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

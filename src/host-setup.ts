import type { LoadedConfig } from "./config/load-config.ts";
import type { McpServers } from "./mcp/client/mcp-servers.ts";
import type { DefaultModel } from "./model/default-model.ts";
import type { PluginRegistry } from "./plugin/registry.ts";
import type { AgentHostOptions } from "./turn/agent-host.ts";
import type { AgentHost } from "./turn/turn-scope.ts";

/** Everything that `reload` creates again: configuration, plugins and the agents that use them. */
export interface Setup {
  loaded: LoadedConfig;
  registry: PluginRegistry;
  agents: Map<string, AgentHost>;
  /** Absent where none is configured. */
  mcp: McpServers | undefined;
  model: Promise<DefaultModel> | undefined;
  /** Opens the sessions of an agent where the configuration names a database. */
  openStore: AgentHostOptions["openStore"];
}

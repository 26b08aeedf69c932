import type { LoadedConfig } from "@pagurus/core/config/load-config";
import type { McpServers } from "@pagurus/host/mcp/client/mcp-servers";
import type { DefaultModel } from "@pagurus/core/model/default-model";
import type { PluginRegistry } from "@pagurus/host/plugin/registry";
import type { AgentHostOptions } from "@pagurus/host/turn/create-agent-host";
import type { AgentHost } from "@pagurus/host/turn/agent/agent-host";

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

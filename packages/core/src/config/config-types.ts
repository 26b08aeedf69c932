/**
 * The configuration file (`pagurus.json`, JSON5) as types, inferred from the schema, which has the meaning and default of each key.
 * Only types are imported, so that reading a configuration loads no schema library.
 */
import type { output } from "zod";
import type { configSchema } from "./config-schema.ts";

/** A type without the `undefined` that the schema library adds to optional keys: `{port?: number | undefined}` is `{port?: number}`. */
type Exact<T> = T extends readonly (infer Item)[]
  ? Exact<Item>[]
  : T extends object
    ? { [Key in keyof T]: Exact<Exclude<T[Key], undefined>> }
    : T;

export type PagurusConfig = Exact<output<ReturnType<typeof configSchema>>>;

/** The value of an optional key. */
type At<T, Key extends keyof T> = NonNullable<T[Key]>;
type Agents = At<PagurusConfig, "agents">;
type Defaults = At<Agents, "defaults">;

/** Settings that an agent of the list may have, too. */
export type AgentConfig = Omit<At<Agents, "list">[number], "id">;
export type AgentModelConfig = At<AgentConfig, "models">[string];
/** A model ref, or a primary with the models that take over when it fails. */
export type ModelChoice = At<AgentConfig, "model">;
export type RuntimePolicy = At<AgentModelConfig, "agentRuntime">;
export type HeartbeatConfig = At<AgentConfig, "heartbeat">;
export type SurfaceToolsConfig = At<AgentConfig, "surfaces">;
export type PermissionConfig = At<AgentConfig, "permission">;
export type PermissionMode = At<PermissionConfig, "mode">;
export type PermissionRule = At<PermissionConfig, "allow">[number];
export type CostLimits = At<Defaults, "maxCost">;
export type RetryConfig = At<Defaults, "retry">;
export type SubagentConfig = At<Defaults, "subagents">;
export type ProviderConfig = At<At<PagurusConfig, "models">, "providers">[string];
export type ModelEntryConfig = At<ProviderConfig, "models">[number];
export type McpServerConfig = At<At<PagurusConfig, "mcp">, "servers">[string];
export type McpOAuthConfig = Exclude<At<McpServerConfig, "oauth">, false>;
export type SkillsConfig = At<PagurusConfig, "skills">;
export type ServerConfig = At<PagurusConfig, "server">;
export type ChannelConfig = At<PagurusConfig, "channels">[string];
export type ChannelGroupConfig = At<ChannelConfig, "groups">[string];
export type StoreConfig = At<PagurusConfig, "store">;
export type OtlpSettings = At<At<PagurusConfig, "telemetry">, "otlp">;

/**
 * The configuration file (`pagurus.json`, JSON5) as plain types, so that reading them costs no schema library. `schema.ts` is
 * checked against them. Keys follow the specification documents; unknown keys warn and are kept.
 */
import type { DirectSurface, ModelApi, ModelCost, UnitCost } from "@pagurus/contract/model";

export type PermissionMode = "ask" | "deny" | "auto" | "read-only";

/** `auto-edit` style rules that "always allow" writes: an exact command line, or a prefix ending in ` *`. */
export interface PermissionRule {
  tool: string;
  /** Shell: the command or a prefix with ` *`; file tools: a path glob. Absent: the whole tool. */
  match?: string;
  /** Absolute folder the rule applies to; absent: everywhere. */
  cwd?: string;
  /**
   * Allow rules for a tool of a plugin or server: SHA-256 of the definition that was allowed, written by "always allow". Such a rule
   * covers no other definition; absent: all.
   */
  definition?: string;
}

export interface PermissionConfig {
  mode?: PermissionMode;
  allow?: PermissionRule[];
  deny?: PermissionRule[];
  /** Environment variables a shell command sees, besides PATH, HOME, LANG and the like; `*` at the end is a prefix. */
  shellEnv?: string[];
  /** `auto` (default): sandboxed where the platform can; `off`; `require`: refuse shell without one. */
  sandbox?: "auto" | "off" | "require";
  /** Network access of sandboxed commands: `on` (default) or `off`; `off` refuses commands without a sandbox. */
  network?: "on" | "off";
  /** Files and folders with keys, such as `~/.npmrc`, that commands and the reading tools may still see. */
  unmask?: string[];
}

export interface ModelEntryConfig {
  id: string;
  name?: string;
  contextWindow?: number;
  maxTokens?: number;
  reasoning?: boolean;
  input?: ("text" | "image")[];
  promptCache?: "none" | "automatic" | "marks";
  truncatesSilently?: boolean;
  cost?: ModelCost;
  /** Direct surfaces that the model serves instead of conversations. */
  surfaces?: DirectSurface[];
  unitCost?: UnitCost;
  agentRuntime?: RuntimePolicy;
}

export interface RuntimePolicy {
  /** A runtime's id, which fails closed, or `auto` (default): runtimes claim their models. */
  id?: string;
  /** For a runtime that drives several agents (`acp`): which one. */
  agentId?: string;
  /** With `auto`, the runtime of a model that no runtime claims: `embedded` (default), or none. */
  fallback?: "none" | "embedded";
}

export interface ProviderConfig {
  api?: Exclude<ModelApi, "offline">;
  baseUrl?: string;
  /** A key, `${ENV}`, or `{file: path}`. */
  apiKey?: string | { file: string };
  headers?: Record<string, string>;
  /** Requests ask the provider why its prompt cache missed. Default: at the addresses of Anthropic and OpenAI. */
  cacheDiagnostics?: boolean;
  models?: ModelEntryConfig[];
  agentRuntime?: RuntimePolicy;
}

export interface CompactionConfig {
  owner?: "engine" | "native";
  model?: string;
  /** Tokens of the newest messages that stay verbatim. Default 20,000. */
  keepRecentTokens?: number;
  reserveTokens?: number;
  reserveTokensFloor?: number;
  mode?: "default" | "safeguard";
  timeoutSeconds?: number;
  /** `strict` (default): a summary keeps every exact identifier it can; `off`: identifiers are not collected. */
  identifierPolicy?: "strict" | "off";
  customInstructions?: string;
  /** Notices before and after a compaction. Default true. */
  notifyUser?: boolean;
}

/** Ageing of old tool results, with the names of OpenClaw. */
export interface ContextPruningConfig {
  /** `cache-ttl` (default): results before a pause age. */
  mode?: "off" | "cache-ttl";
  /** The pause, such as `30m`; `0m`: each turn. Default `1h`. */
  ttl?: string;
  /** Names of tools whose results age, `*` matches any characters; `deny` wins. Absent: all. */
  tools?: { allow?: string[]; deny?: string[] };
  /** Whether the oldest results are replaced when shortening them is not enough. Default true. */
  hardClear?: { enabled?: boolean; placeholder?: string };
}

export interface SessionConfig {
  /**
   * Default conversation of a command: `folder` (default): the workspace's; `main`: one for all folders. The other two are
   * OpenClaw's and are treated as these.
   */
  scope?: "folder" | "main" | "per-sender" | "global";
}

/** An OpenTelemetry collector that gets spans of turns. */
export interface OtlpSettings {
  /** Its address for OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added. */
  endpoint: string;
  /** Sent with each export. */
  headers?: Record<string, string>;
  /** Send answers, and arguments and results of tools too. Default false. */
  contents?: boolean;
}

/** Where the sessions are. */
export interface StoreConfig {
  /** Default `files`: the home folder. */
  kind?: "files" | "postgres";
  /** Address of a PostgreSQL, or `${VARIABLE}`. */
  url?: string;
  /** Schema of the tables. Default `pagurus`. */
  schema?: string;
  /** Seconds after which another host may take over a session whose writer is gone. Default 10. */
  lease?: number;
}

/** `pagurus serve`. */
export interface ServerConfig {
  /** Default 7117. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Sessions that may work at once. Default 16. */
  maxTurns?: number;
  /** Longest body of a request. Default 33,554,432 (32 MiB). */
  maxBodyBytes?: number;
  /** Bytes of all bodies of requests that are being answered. Default 134,217,728 (128 MiB). */
  maxBytesInFlight?: number;
  /** Requests of one token that are open at once, besides event streams. Default 256. */
  maxRequests?: number;
  /** Sessions of the model API whose state is kept in memory, those that were used last. Default 200. */
  maxLiveSessions?: number;
  /** Seconds for which a permission question to a client of the model API waits; then it is denied. Default 300. */
  questionSeconds?: number;
  /** Host names that requests may have, besides those of the loopback. */
  allowedHosts?: string[];
  /** Origins of other sites' pages that may call the server. */
  allowedOrigins?: string[];
}

/** A group of a channel. */
export interface ChannelGroupConfig {
  /** `mention`: messages that speak to the agent; `always`: all. Default `mention`. */
  answer?: "mention" | "always";
  /** Whose messages are answered: `known` of people who may speak, `all` of every member. Default `known`. */
  from?: "known" | "all";
  /** Session of the group. Default: one of its own. */
  session?: string;
}

/** A service where people talk to the host while `pagurus serve` runs. */
export interface ChannelConfig {
  /** `xmpp`, `email`, `irc`, `webhook`, `telegram`, `slack`, `discord`, `github`, or a kind that a plugin adds. */
  kind?: string;
  /** Default true. */
  enabled?: boolean;
  /** Agent that answers. Default `main`. */
  agent?: string;
  /** One session for all direct messages. Default: one for each person. */
  session?: string;
  /** In a group: one session for it, or one for each person of it. Default `group`. */
  scope?: "group" | "peer";
  /** By address: groups in which the agent takes part. */
  groups?: Record<string, ChannelGroupConfig>;
  /** Folder of the turns. Default: where the server was started. */
  workspace?: string;
  /** Permission mode of the turns. Default `deny`. */
  permission?: "ask" | "deny" | "auto" | "read-only";
  /** Addresses that may speak without a code. */
  allow?: string[];
  /** XMPP: address of the account, such as crab@example.org. */
  jid?: string;
  /** Name of the host in groups, by which it is spoken to. IRC: needed. Default of XMPP: as the address begins. */
  nick?: string;
  /** A password, or `${VARIABLE}`. */
  password?: string;
  /** XMPP: `xmpp://host:port` or `xmpps://host:port`. Default: as the address's domain says. IRC: `ircs://host:port`, or `irc://`. */
  service?: string;
  /** Telegram, Slack, Discord, GitHub: token of the bot, or `${VARIABLE}`. */
  token?: string;
  /** Webhooks, Slack, GitHub: what signs requests, or `${VARIABLE}`; of webhooks 16 characters or more. */
  secret?: string;
  /** Webhooks: where answers are sent. Telegram, Slack, Discord, GitHub: address of another server of their interface. */
  url?: string;
  /** IRC: account to log in to (SASL), with `password`. */
  account?: string;
  /** IRC: password of the server, or `${VARIABLE}`. */
  serverPassword?: string;
  /** IRC: channels to join. */
  join?: string[];
  /** IRC: lines sent in a second, after the first five. Default 0.5. */
  linesPerSecond?: number;
  /** GitHub: seconds between two looks for comments that its webhook did not bring. Default 60. */
  pollSeconds?: number;
  /** Settings of a plugin's kind; `${VARIABLE}` is replaced in every text. */
  settings?: Record<string, unknown>;
  /** E-mail: address of the account. */
  address?: string;
  /** E-mail: name of the login. Default: the address. */
  user?: string;
  /** E-mail: `imaps://host:port`, or `imap://host:port` with STARTTLS. */
  imap?: string;
  /** E-mail: `smtps://host:port`, or `smtp://host:port` with STARTTLS. */
  smtp?: string;
  /** E-mail: name that the receiving server writes in Authentication-Results. */
  authserv?: string;
  /** E-mail: `Received` fields above those results, without those of LMTP. Default 0. */
  authservHops?: number;
  /** E-mail: what a mail is whose sender the server has not verified. Default `drop`. */
  unverified?: "drop" | "stranger" | "trust";
  /** E-mail: largest mail that is read. Default 10,485,760. */
  maxBytes?: number;
  /** Answers in one thread and hour. Default 30. */
  answersPerHour?: number;
  /** Messages of one person that may wait for their answers; further ones are not accepted. Default 100. */
  waitingPerPerson?: number;
  /** Messages that may wait for their answers in one session. Default 300. */
  waitingPerSession?: number;
  /** E-mail: seconds in which the copy of a mail is looked for, after a crash, before it is sent again. Default 30. */
  lookupSeconds?: number;
}

/** US dollars. */
export interface CostLimits {
  turn?: number;
  session?: number;
  /** All sessions of the agent since local midnight. */
  day?: number;
}

/** Retry limits for a failing model. */
export interface RetryConfig {
  /** Time limit of one call's retries. Default 1,800, in one-shot runs 300. */
  maxElapsedSeconds?: number;
  /** Maximum backoff of the host's own; a server may ask for more. Default 60. */
  maxDelaySeconds?: number;
}

/** Limits of one model answer. */
export interface AnswerLimitsConfig {
  /** Default 134,217,728. */
  bytes?: number;
  /** Limit of one stream event. Default 16,777,216. */
  eventBytes?: number;
  /** Timeout without a byte; 2.5 times as long before the first one. Default 120. */
  silenceSeconds?: number;
  /** Timeout without new content, whatever keep-alive arrives. Default 600. */
  idleSeconds?: number;
}

export interface SubagentConfig {
  /** Maximum nesting of children; 0 disables `spawn_agent`. Default 2. */
  maxSpawnDepth?: number;
  /** Maximum concurrent children of a session. Default 4. */
  maxConcurrent?: number;
  /** Lifetime limit of a child. Default 3,600. */
  ttlSeconds?: number;
}

export interface AgentModelConfig {
  agentRuntime?: RuntimePolicy;
  thinking?: "off" | "low" | "medium" | "high";
  /** A name for the model, usable wherever a model is named; without a slash. */
  alias?: string;
}

/** Settings of the engine `lossless`. */
export interface LosslessConfig {
  /** Tokens of history and live turn at which it compacts; a model's budget may lower it. */
  trigger?: number;
  /** Tokens of the head: the summary with everything that belongs to it. Default: a share of the trigger. */
  headTokens?: number;
  /** Tokens of newest messages that stay unchanged. Default: a share of the trigger. */
  tailTokens?: number;
  /** Globs over session keys: nothing of these is stored beyond the transcript. */
  ignoreSessions?: string[];
  /** Globs over session keys: as ignored, and no earlier turn is shown to the model. */
  statelessSessions?: string[];
  /** Maximum summaries requested from a model per hour. */
  summariesPerHour?: number;
  /** Whether earlier passages that match a turn's input are added after a compaction. */
  recall?: boolean;
  /** Whether passages are also ordered by what they mean: English only, with the packages of `@energetic-ai`. */
  encoder?: boolean;
  /** Absent: everything is kept. */
  retention?: {
    /** Conversations unused for so many days leave the database; their transcripts stay. */
    sessionsOlderThanDays: number;
  };
}

/** The model gateway. */
export interface GatewayConfig {
  /** Stores each model request and its answer on the disk. Default false. */
  capture?:
    | boolean
    | {
        /** Bytes of all of them together; the oldest are deleted. Default 256 MiB. */
        maxBytes?: number;
        /** Number of newest requests kept per session. Absent: as many as fit. */
        keep?: number;
      };
}

export interface WireConfig {
  /** Whether programs may use a login by subscription of their own. Default false. */
  ownLogin?: boolean;
  /** Further hosts that get a program's own login, for example `gateway.example.org`. Default: its maker's alone. */
  loginHosts?: string[];
}

export interface TrustConfig {
  /** Patterns of trusted folders, for example `~/work/*`. */
  folders?: string[];
}

export interface SkillsConfig {
  /** Further folders of skills, or of one skill; a relative one starts at the home folder of Pagurus. */
  paths?: string[];
  /** By the skill's name. */
  entries?: Record<string, { enabled?: boolean }>;
}

interface PluginEntryConfig {
  enabled?: boolean;
  /** Whether runs are refused when it cannot be loaded. Default: true for a gate. */
  required?: boolean;
  config?: unknown;
}

/**
 * An MCP server of the user, as a program (`command`) or at an address (`url`). The keys of OpenClaw and of Claude's
 * `.mcp.json` mean the same here. Texts may refer to the environment: `${NAME}`, `${NAME:-default}`.
 */
export interface McpServerConfig {
  command?: string;
  args?: string[];
  /** Variables of the program, besides PATH, HOME and the like. */
  env?: Record<string, string | number | boolean>;
  /** A relative one starts at the folder of the configuration. Default: where the host runs. */
  cwd?: string;
  workingDirectory?: string;
  url?: string;
  headers?: Record<string, string>;
  /** Settings of `pagurus mcp login`; false: no login. Absent: a login as the server describes it. */
  oauth?: false | McpOAuthConfig;
  /** For a `url`: `http` (default) is the streamable transport, `sse` the older one. */
  type?: "stdio" | "http" | "streamable-http" | "sse";
  transport?: "stdio" | "http" | "streamable-http" | "sse";
  /** Default true. */
  enabled?: boolean;
  /** The same as `enabled: false`, as other programs write it. Overrides `enabled`. */
  disabled?: boolean;
  /** Timeout of a call without an answer or progress, ms. Default 120,000. */
  timeoutMs?: number;
  requestTimeoutMs?: number;
  timeout?: number;
  /** Timeout of a call that reports progress, ms; at least `timeoutMs`. Default: ten times `timeoutMs`. */
  longestCallMs?: number;
  /** Timeout of a start, ms. Default 60,000. */
  connectTimeoutMs?: number;
  connectionTimeoutMs?: number;
  /**
   * `ask` (default): as the permission mode decides; `allow`: its tools run without a permission prompt, as with a rule for
   * each.
   */
  permission?: "ask" | "allow";
  /** Names of its tools, `*` matches any characters. `deny` wins. Absent: all. */
  tools?: { allow?: string[]; deny?: string[] };
  /** The same as `tools.allow`, as Gemini CLI and Codex write it; `tools.allow` overrides them. */
  includeTools?: string[];
  enabled_tools?: string[];
  /** The same as `tools.deny`, as Gemini CLI, Codex and Roo Code write it. */
  excludeTools?: string[];
  disabled_tools?: string[];
  disabledTools?: string[];
}

/** Login to an MCP server at an address. All keys are optional: most servers register a client by themselves. */
export interface McpOAuthConfig {
  /** Id of a client that was registered before. */
  clientId?: string;
  /** Refer to the environment: `${NAME}`. */
  clientSecret?: string;
  /** Permissions to ask for, separated by spaces, besides those that the server names. */
  scope?: string;
  /** `authorization_code` (default): a person agrees in a browser; `client_credentials`: the client's own secret or key. */
  grant?: "authorization_code" | "client_credentials";
  /** The authorization server that the client belongs to; another one gets nothing. */
  issuer?: string;
  /** An https address with the metadata of the client, for servers that take it as its id. */
  clientMetadataUrl?: string;
  /** Port on 127.0.0.1 that the browser returns to. Default: any, the same at each login. */
  callbackPort?: number;
  /** PEM file of the client's key, instead of a secret. */
  privateKey?: { file: string };
  /** Of the key. Default `ES256`. */
  algorithm?: string;
}

export type EngineStage =
  | "factory"
  | "bootstrap"
  | "assemble"
  | "compact"
  | "settle"
  | "maintain"
  | "dispose";

/** A turn that `pagurus serve` runs again and again, without a user. */
export interface HeartbeatConfig {
  /** Interval such as `30m`, which is the default; `0m` switches it off. */
  every?: string;
  /** Hours of a day such as `08:00` to `22:00`. Default: all day, in the machine's time zone. */
  activeHours?: { start: string; end: string; timezone?: string };
  prompt?: string;
  /** Key of its session. Default `main`. */
  session?: string;
  /** Model ref. */
  model?: string;
}

/** Refs of the models of the tools for direct surfaces; a tool without a model is not offered. */
export interface SurfaceToolsConfig {
  /** `generate_image`. */
  images?: string;
  /** `speak`. */
  speech?: string;
  /** Voice of `speak`. Default `alloy`. */
  voice?: string;
  /** `transcribe_audio`. */
  transcription?: string;
}

export type ModelChoice = string | { primary: string; fallbacks?: string[] };

export interface AgentConfig {
  heartbeat?: HeartbeatConfig;
  workspace?: string;
  /** With a list of fallbacks, the models that take over when the primary fails, in order. */
  model?: ModelChoice;
  models?: Record<string, AgentModelConfig>;
  surfaces?: SurfaceToolsConfig;
  permission?: PermissionConfig;
  thinking?: "off" | "low" | "medium" | "high";
  /** Maximum model calls of one turn. Default 200. */
  maxSteps?: number;
  /** Timeout of a turn, seconds. Default 3,600. */
  timeoutSeconds?: number;
}

export interface PagurusConfig {
  agents?: {
    defaults?: AgentConfig & {
      compaction?: CompactionConfig;
      /** Characters of one tool result that are sent. Default 48,000. */
      toolResultMaxChars?: number;
      contextPruning?: ContextPruningConfig;
      /** Timeout of an engine at each stage, seconds; unnamed stages keep their default. */
      engineDeadlines?: Partial<Record<EngineStage, number>>;
      maxCost?: CostLimits;
      retry?: RetryConfig;
      answerLimits?: AnswerLimitsConfig;
      subagents?: SubagentConfig;
    };
    list?: (AgentConfig & { id: string })[];
  };
  models?: { providers?: Record<string, ProviderConfig> };
  plugins?: {
    slots?: { contextEngine?: string; memory?: string };
    entries?: {
      lossless?: { enabled?: boolean; config?: LosslessConfig };
      [id: string]: PluginEntryConfig;
    };
    load?: { paths?: string[] };
    /** Ids of the only plugins to load; the bundled ones always are. Absent: all. */
    allow?: string[];
    /** Ids of plugins never to load. */
    deny?: string[];
  };
  memory?: { citations?: "auto" | "on" | "off" };
  mcp?: { servers?: Record<string, McpServerConfig> };
  skills?: SkillsConfig;
  gateway?: GatewayConfig;
  /** `pagurus wire`. */
  wire?: WireConfig;
  trust?: TrustConfig;
  server?: ServerConfig;
  channels?: Record<string, ChannelConfig>;
  store?: StoreConfig;
  telemetry?: { otlp?: OtlpSettings };
  session?: SessionConfig;
  logging?: { level?: "debug" | "info" | "warn" | "error" | "silent" };
}

/** Facts of an agent that is known by name, and what the descriptions of several agents share. */
import { PERMISSION_MODES, type PermissionMode } from "@pagurus/contract/host/permission-modes";
import type { ModelInfo } from "@pagurus/contract/model";
import type { FolderFile } from "@pagurus/core/platform/folder-files";
import type { Endpoint } from "../acp-options.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export interface KnownAgent {
  label: string;
  program: string;
  args: readonly string[];
  /** Command that installs it, or where it is described. */
  install: string;
  /** Modes in which the agent asks for whatever the permission mode does not allow. */
  modes?: Readonly<Record<PermissionMode, string>>;
  /** Environment in which the agent asks for what the permission mode does not allow, for one that has no mode for it. */
  modeEnv?(mode: PermissionMode): Record<string, string>;
  /** It never requests permission: only the mode `auto` can be kept. Default true. */
  asks?: false;
  /** It takes no MCP servers over stdio: its model has none of the host's tools. Default true. */
  takesTools?: false;
  /** It answers `session/new` before it has connected to the MCP servers, which it does without a prompt. */
  connectsLate?: true;
  /** What lets it take MCP servers, as an imperative. */
  toolsRemedy?: string;
  /** A new session of the same process still has what earlier ones contained. */
  keepsPast?: true;
  /** Environment that points the agent to the model of an endpoint; undefined when it cannot use that model. */
  access?(model: ServedModel): Record<string, string> | undefined;
  /** Its environment is enough: no endpoint request is sent. */
  isReachedByEnv?: boolean;
  /** Variables of the user's shell that would redirect it, or send another provider's key to the endpoint. */
  strays?: RegExp;
  /** Names of its own variables. */
  variables?(env: Env): readonly string[];
  /** Model that the environment of its process names; undefined when none does. */
  modelIn?(env: Env): string | undefined;
  /** What it would start from in a folder that the user does not trust. */
  folder?: FolderRule;
  /** Variables with the key of a way to log in (`authenticate`), by the id of that way. */
  keys?: Readonly<Record<string, string>>;
}

/** What an agent would start from in a folder that the user does not trust, and how it is kept from that. */
export interface FolderRule {
  /** The agent leaves these out with `env` or `meta`. */
  leavesOut?: readonly FolderFile[];
  env?(env: Env, files: string): Record<string, string>;
  /** `_meta` of its sessions. */
  meta?: Readonly<Record<string, unknown>>;
  /** Nothing keeps the agent from these: a turn is refused. */
  runs?: readonly FolderFile[];
}

/** Environment of a process and `_meta` of its sessions in a folder that the user does not trust. */
export interface FolderAccess {
  env: Readonly<Record<string, string>>;
  meta?: Readonly<Record<string, unknown>>;
}

export interface ServedModel {
  api: ModelInfo["api"];
  id: string;
  endpoint: Endpoint;
  env: Env;
}

export function keyOf({ headers }: Endpoint): string {
  return (headers["authorization"] ?? "").replace(/^Bearer /, "");
}

/** Headers besides the key, one a line, as several agents take them. */
export function otherHeaders({ headers }: Endpoint): string | undefined {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    name === "authorization" ? [] : [`${name}: ${value}`],
  );
  return lines.length === 0 ? undefined : lines.join("\n");
}

/** The same mode of the agent for each permission mode: it asks for everything that may change something. */
export function always(mode: string): Record<PermissionMode, string> {
  return Object.fromEntries(PERMISSION_MODES.map((each) => [each, mode])) as Record<PermissionMode, string>;
}

/**
 * Programs of the user that `pagurus wire` wraps: which provider each was set to, and what points it to the model gateway
 * instead.
 * One implementation per program: beside the runtime that knows it, in `packages/gateway/src/programs`, or in a plugin
 * (`api.registerProgramWrap`).
 */
import type { WireApi } from "./wire.ts";
import type { SettingOrigin } from "./wrap-origin.ts";
import type { WrapRequestRule } from "./wrap-rules.ts";

export interface WrapRequest {
  /** The program as the user named it: a name, or a path. */
  command: string;
  /** Arguments after the program, as the user wrote them. */
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The user trusts the folder, by Pagurus's own record. Absent: no. */
  folderTrusted?: boolean;
  /** Folder of the host for files that the program reads; created when needed. */
  folder: string;
}

/** Where the program's own configuration sends its model requests. */
export interface WrapProvider {
  /** As in a model ref. */
  id: string;
  /** With the version's path. */
  baseUrl: string;
  /** Where the address was set. Absent: unknown, so it is only used in a trusted folder, or if it is the protocol's own provider. */
  from?: SettingOrigin;
  /** Environment variable with the key, if any; else the program manages its key itself. */
  keyEnv?: string;
  /** Headers that the program is set to send; the value of a secret one is `${NAME}`. */
  headers?: Readonly<Record<string, string>>;
}

/** A route through the gateway, as a program is configured for it. */
export interface WrapRoute {
  baseUrl: string;
  /** Secret: never on a command line. */
  headers: Readonly<Record<string, string>>;
  /** The base URL with the route's secret in its path, for programs that can be set an address alone. Never on a command line. */
  secretUrl: string;
  /** The secret alone, for programs that send it as their key. Never on a command line. */
  token: string;
  /** An engine owns the context: the program neither compacts by itself nor refuses a long history. */
  governs: boolean;
  /** The engine compacts: the program's compaction is off, whatever its user has set. */
  compacts?: boolean;
  /** The gateway answers with a model and a key of the host: the program needs no login. */
  answersAll: boolean;
  /** The engine's tools, offered to the program's model besides its own; absent if it has none. */
  tools?: WrapTools;
}

/** A stdio MCP server that the program starts. Holds no secret. */
export interface WrapTools {
  /** Name of the server in the program. */
  name: string;
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

export interface WrapLaunch {
  command: string;
  args: string[];
  env: Record<string, string | undefined>;
  /** Made for this run alone; removed after it. */
  files?: string[];
}

export interface WrapRefusal {
  /**
   * `login`: a subscription, which only the program itself may use; `account`: a login whose address cannot be changed, so only a model
   * of ours can answer; `place`: its requests go to an address without a gateway.
   */
  kind: "login" | "account" | "place";
  /** One sentence. */
  reason: string;
  /** Whose login it is, for `login`: a provider's id. Default: that of the program's provider. */
  login?: string;
}

/** A program with the user's settings. */
export interface WrappedProgram {
  readonly provider: WrapProvider;
  /** Protocol of that provider, for a program that speaks several. Default: the wrap's. */
  readonly api?: WireApi;
  /** Secret headers for the provider, if the program sends the route's token in the place of its own key. */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Working folder. */
  readonly cwd: string;
  /** Ids of the models that it is set to use, where known. */
  readonly models: readonly string[];
  /** Context window in tokens that the user has chosen, where the program allows a choice. */
  readonly contextWindow?: number;
  /**
   * Tokens of a chosen window that the engine must leave free, where the program would compact by itself in them. Absent: none.
   */
  readonly spareTokens?: (contextWindow: number) => number;
  /** The program's own record of the folder, which decides instead of Pagurus's. Absent: it has none. */
  readonly folderTrusted?: boolean;
  /** Files of the folder that would decide something and were not read, since the folder is not trusted. Absolute. */
  readonly withheld?: readonly string[];
  /** The user resumes one of the program's own conversations. */
  readonly resumes?: boolean;
  /** Why its requests cannot be governed; absent if they can. */
  readonly refusal?: WrapRefusal;
  /** How to start the program with its requests on the route. A throw ends `pagurus wire` before the program starts. */
  launch(route: WrapRoute): Promise<WrapLaunch>;
}

export interface ProgramWrap {
  /** Base name of the program. */
  readonly id: string;
  readonly label: string;
  readonly api: WireApi;
  /** Header with the program's own name of the conversation, lower case. Absent: it is known by its first words. */
  readonly conversationHeader?: string;
  /** Applied in order to the requests of the conversation, as the protocol alone sees them. */
  readonly rules?: readonly WrapRequestRule[];
  /** Reads the program's settings; may start it for that. Throws `runtime_failed`, `usage_invalid`. */
  survey(request: WrapRequest): Promise<WrappedProgram>;
}

/** How a user describes a program that has no wrap. */
export interface ProgramDescription {
  api: WireApi;
  /** Variable that the program reads its base URL from. Default: the one of the protocol's own client library. */
  baseUrlEnv?: string | undefined;
  /** Variable that it reads its key from. Default: the one of the protocol's provider. */
  keyEnv?: string | undefined;
  /** The provider's address, if it is not the value of `baseUrlEnv` nor the protocol's own provider. */
  upstream?: string | undefined;
  /** Arguments that point it to a base URL, before its own; `{url}` in them is the route's, without its secret. */
  args: readonly string[];
}

/**
 * Who asks, and what they may do: one value, made once where a request enters (a door), and passed to every operation of the host. Each
 * operation checks it, so a route or a channel only translates.
 */

import type { PermissionMode } from "./permission-modes.ts";

/** Each scope includes the ones before it. */
export const SCOPES = ["read", "chat", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Where a request entered. */
export type Door = "owner" | "browser" | "token" | "channel" | "plugin" | "job";

export interface Authority {
  readonly door: Door;
  /** The holder: `owner`, a token's id, `browser:<id>`, `channel:<id>`, `plugin:<id>`. Recorded with each action. */
  readonly tokenId: string;
  readonly scope: Scope;
  /** Pattern of session keys, with `*` for any characters, for example `fam-*`. */
  readonly sessions: string;
  /** Pattern of agent ids, for example `main` or `*`. */
  readonly agents: string;
  /**
   * Folders that a request may name, with all below them: `any`, or a list of absolute paths. The session's folder and the agent's
   * workspace are always among them.
   */
  readonly folders: "any" | readonly string[];
  /**
   * The most permissive mode of a turn. The configured mode of the agent is a second limit; `any` has neither.
   */
  readonly mode: PermissionMode | "any";
  /** May name a program that the host starts outside of the sandbox: an MCP server's command, a job's check. */
  readonly mayStartPrograms: boolean;
  /** May answer a permission question with "always", which saves a rule for later turns. */
  readonly mayRemember: boolean;
  /**
   * Who else reads what its turns answer, as of a run: with one, nothing of other sessions and no notes of the owner enter them. Absent:
   * the owner alone.
   */
  readonly audience?: "group" | "strangers" | undefined;
  /** When it ends, ms since the epoch; absent: with its holder. */
  readonly until?: number | undefined;
}

/** The user of this machine: a terminal, a program that opens the host as a library, an editor that started `pagurus acp`. */
export const OWNER: Authority = {
  door: "owner",
  tokenId: "owner",
  scope: "admin",
  sessions: "*",
  agents: "*",
  folders: "any",
  mode: "any",
  mayStartPrograms: true,
  mayRemember: true,
};

/** A host that serves several callers, each with an authority of its own. */
import type { Authority } from "./authority.ts";
import type { PermissionMode } from "./permission-modes.ts";
import type { Pagurus } from "./host.ts";
import type { RunRequest } from "./run.ts";

/** A host in this process. `createPagurus` returns the owner's; a server calls `as` for each caller. */
export interface PagurusHost extends Pagurus {
  /**
   * The same host for another caller: every member checks the authority first, and refuses with `token_invalid` all that it does not cover.
   * A host made from such a one never allows more than both. Throws `token_invalid` where the two have no sessions or agents in common.
   */
  as(authority: Authority): PagurusHost;
  /** Whether a call would be allowed, for one that is made later. Each throws `token_invalid` if it would not. */
  readonly check: {
    run(request: RunRequest): void;
    compact(request: { sessionKey?: string; agentId?: string; cwd?: string }): void;
    command(request: { name: string; sessionKey?: string; agentId?: string; cwd?: string }): void;
    /** A path that a request names outside of any session, or beside the folders of one. */
    folder(path: string, place?: { agentId?: string; sessionKey?: string }): void;
  };
  /** The most permissive mode that a turn of the caller may have. Throws `config_invalid` for an unknown agent. */
  mode(agentId?: string): PermissionMode;
}

/** Claims: which conversation a caller gets, held exclusively against other live turns and programs. */
import type { SessionRecord } from "./writer.ts";

export interface ClaimRequest {
  /** Key of a conversation; refused if it is in use. */
  sessionKey?: string | undefined;
  /** Default `main`. */
  agentId?: string | undefined;
  /** Folder whose workspace decides when no key is named; default: the agent's workspace, else the process's folder. */
  cwd?: string | undefined;
  /**
   * Selection without a key. `continue` (default): the folder's last conversation, or a new one if that is in use; `last`: that
   * one, refused if it is in use; `new`: a new one of the folder.
   */
  how?: "continue" | "last" | "new" | undefined;
}

export interface SessionClaim {
  readonly sessionKey: string;
  /** The session's current record; absent before its first turn. */
  readonly record?: SessionRecord;
  /** Workspace of the conversation; absent where the key was named or `session.scope` is `main`. */
  readonly folder?: string;
  /** The folder's last conversation, skipped because another live turn or program holds it. */
  readonly insteadOf?: { sessionKey: string; reason: string };
  /** Never throws. */
  release(): void;
}

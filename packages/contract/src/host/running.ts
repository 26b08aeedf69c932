/** The turn that runs in a session, in this process or another. Each throws `turn_not_running` in one sentence. */
export interface RunningTurns {
  /** Resolves when the turn has accepted the text. Throws `usage_invalid` when it is empty, `live_turn_too_large`. */
  steer(request: { text: string; sessionKey?: string; agentId?: string; cwd?: string }): Promise<void>;
  /** Resolves when the abort has reached the turn, which ends soon after. */
  stop(request: { sessionKey?: string; agentId?: string; cwd?: string }): Promise<void>;
}

/** Shared parts of the simulated policies: sizes of a session's messages, and where its history may be cut. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { STATIC_TOKENS } from "../../../packages/replay/src/context-policy.ts";
import {
  tokensOf,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";

export class History {
  readonly session: RecordedSession;
  /** Tokens of the messages before an index. */
  readonly #before: number[] = [0];

  constructor(session: RecordedSession) {
    this.session = session;
    let total = 0;
    for (const message of session.messages) {
      total += tokensOf(session, message);
      this.#before.push(total);
    }
  }

  /** Tokens of `messages[from, to)`. */
  tokens(from: number, to: number): number {
    return (this.#before[to] ?? 0) - (this.#before[from] ?? 0);
  }

  slice(from: number, to: number): readonly AgentMessage[] {
    return this.session.messages.slice(from, to);
  }

  /** Start of a tail of at most `budget` tokens: never at a tool result, never after the newest answer, never before `least`. */
  cut(call: ModelCall, budget: number, least: number): number {
    let newest = call.end - 1;
    while (newest > call.liveStart && this.session.messages[newest]?.role !== "assistant") newest--;
    let cut = newest;
    for (let index = newest; index >= least; index--) {
      if (this.tokens(index, call.end) > budget) break;
      if (this.session.messages[index]?.role !== "toolResult") cut = index;
    }
    return cut;
  }

  /** The user's messages of the live turn before a cut: they stay, in front of everything else. */
  inputsBefore(call: ModelCall, cut: number): readonly AgentMessage[] {
    return this.slice(call.liveStart, Math.max(cut, call.liveStart)).filter(
      (message) => message.role === "user",
    );
  }

  /** Tokens of a prompt: static prefix, what precedes the tail, the tail from `cut` on. */
  promptTokens(before: readonly AgentMessage[], cut: number, call: ModelCall): number {
    const extra = before.reduce((sum, message) => sum + tokensOf(this.session, message), 0);
    return STATIC_TOKENS + extra + this.tokens(cut, call.end);
  }
}

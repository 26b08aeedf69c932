/**
 * Pairs MCP calls of the host's tools with the calls in the agent's own stream. Either may arrive first, and of two parallel
 * calls the second before the first.
 */
import { isDeepStrictEqual } from "node:util";
import type { NativeCall } from "./acp-tool-calls.ts";

export interface HostCall {
  name: string;
  arguments: Record<string, unknown>;
}

/**
 * Never pairs a call that was reported with other arguments; calls reported without arguments are paired in the order of
 * their reports.
 */
export function callFor(
  { name, arguments: args }: HostCall,
  calls: readonly NativeCall[],
): NativeCall | undefined {
  const waiting = calls.filter(
    ({ hostTool, isCalled, isEnded }) => hostTool === name && !isCalled && !isEnded,
  );
  const isSame = ({ part }: NativeCall): boolean => isDeepStrictEqual(part.arguments, args);
  return waiting.find(isSame) ?? waiting.find(({ hasInput }) => !hasInput);
}

/** Wakes waiters when something is reported. */
export class News {
  #comes = Promise.withResolvers<void>();

  report(): void {
    this.#comes.resolve();
    this.#comes = Promise.withResolvers<void>();
  }

  /** Calls `ask` at once and after each report, and resolves with its first result; undefined after `ms`. */
  async until<T>(ask: () => T | undefined, ms: number): Promise<T | undefined> {
    const until = performance.now() + ms;
    for (;;) {
      const answer = ask();
      const left = until - performance.now();
      if (answer !== undefined || left <= 0) return answer;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, left)));
      await Promise.race([this.#comes.promise, late]).finally(() => clearTimeout(timer));
    }
  }
}

/**
 * Which of an agent's calls a call of the host's tools belongs to. The tools are called over MCP and the agent tells of
 * its calls in its own stream: either may come first, and of two calls at once the second before the first.
 */
import { isDeepStrictEqual } from "node:util";
import type { NativeCall } from "./tool-calls.ts";

export interface HostCall {
  name: string;
  arguments: Record<string, unknown>;
}

/** A call that was told with other arguments is never taken; one whose arguments the agent does not tell is, in the order of telling. */
export function callFor(
  { name, arguments: given }: HostCall,
  calls: readonly NativeCall[],
): NativeCall | undefined {
  const waiting = calls.filter(
    ({ hostTool, isCalled, isEnded }) => hostTool === name && !isCalled && !isEnded,
  );
  const isSame = ({ part }: NativeCall): boolean => isDeepStrictEqual(part.arguments, given);
  return waiting.find(isSame) ?? waiting.find(({ hasInput }) => !hasInput);
}

/** What comes to be told, for those who wait for it. */
export class News {
  #comes = Promise.withResolvers<void>();

  tell(): void {
    this.#comes.resolve();
    this.#comes = Promise.withResolvers<void>();
  }

  /** Asks at each piece of news, and at once; the first answer there is, undefined where there is none within `ms`. */
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

/**
 * The folder and the environment that a piece of work belongs to: those of the process, except in the resident host, whose process
 * works for callers in many folders at once. Code asks here in place of `process.cwd()` and `process.env`.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export interface Surroundings {
  /** Absolute. */
  cwd: string;
  env: Record<string, string | undefined>;
  /** Writes a line of `console` where the caller sees it. Never throws. */
  print(text: string): void;
}

const surroundings = new AsyncLocalStorage<Surroundings>();

/** Runs `work`, and all that it starts, in these surroundings. */
export function within<T>(own: Surroundings, work: () => T): T {
  return surroundings.run(own, work);
}

/** Those of `within`; undefined if the process itself is meant. */
export function currentSurroundings(): Surroundings | undefined {
  return surroundings.getStore();
}

export function currentFolder(): string {
  return surroundings.getStore()?.cwd ?? process.cwd();
}

export function currentEnv(): Record<string, string | undefined> {
  return surroundings.getStore()?.env ?? process.env;
}

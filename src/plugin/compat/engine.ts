/** What OpenClaw takes of its engines' answers and this host's contract does not say. */
import type { ContextEngine } from "../../contract/engine.ts";
import type { CompactResult } from "../../contract/engine-compaction.ts";

/** An engine that was written for OpenClaw, answering as this host reads it. Everything else of it stays as it is. */
export function hostEngine(engine: ContextEngine): ContextEngine {
  // What is no engine is refused by whoever asked for it.
  if (typeof engine !== "object" || engine === null) return engine;
  // Not a proxy of the engine itself: of a frozen one every member would have to be answered as it is.
  return new Proxy(Object.create(engine) as ContextEngine, {
    set: (_, name, value) => Reflect.set(engine, name, value, engine),
    get: (_, name) => {
      // On the engine itself, whose private members a proxy does not have.
      const value: unknown = Reflect.get(engine, name, engine);
      if (typeof value !== "function") return value;
      const member = value.bind(engine) as (params: unknown) => unknown;
      if (name === "bootstrap")
        return async (params: unknown) => (await member(params)) ?? { bootstrapped: true };
      if (name === "compact")
        return async (params: unknown) => ownCompaction((await member(params)) as CompactResult);
      return member;
    },
  });
}

/**
 * A summary that names no first kept entry is a word about a compaction that the engine keeps to itself, not a text
 * that could stand for entries of the transcript.
 */
function ownCompaction(answer: CompactResult): CompactResult {
  const { result } = answer ?? {};
  if (result?.summary === undefined || result.firstKeptEntryId !== undefined) return answer;
  const { summary: _word, ...kept } = result;
  return { ...answer, result: kept };
}

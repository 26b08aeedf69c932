/** Adapts OpenClaw engines whose answers differ from this host's contract. */
import type { ContextEngine } from "../../contract/engine/engine.ts";
import type { CompactResult } from "../../contract/engine/engine-compaction.ts";

/** An engine written for OpenClaw, with its answers adapted to this host. Everything else is unchanged. */
export function hostEngine(engine: ContextEngine): ContextEngine {
  // The caller refuses a non-engine.
  if (typeof engine !== "object" || engine === null) return engine;
  // Not a proxy of the engine itself: a frozen one would require unchanged members.
  return new Proxy(Object.create(engine) as ContextEngine, {
    set: (_, name, value) => Reflect.set(engine, name, value, engine),
    get: (_, name) => {
      // Called on the engine itself, since a proxy has no private members.
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
 * A summary without a first kept entry is a note on a compaction that the engine stores itself, not a text that could replace
 * entries of the transcript.
 */
function ownCompaction(answer: CompactResult): CompactResult {
  const { result } = answer ?? {};
  if (result?.summary === undefined || result.firstKeptEntryId !== undefined) return answer;
  const { summary: _word, ...kept } = result;
  return { ...answer, result: kept };
}

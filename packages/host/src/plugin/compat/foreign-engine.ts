/** Adapts OpenClaw engines whose parameters or answers differ from this host's contract. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { foreignComplete, type ForeignComplete } from "./foreign-llm.ts";

/** The runtime context of an OpenClaw engine. */
export type ForeignRuntimeContext = Omit<RuntimeContext, "llm"> & { llm: { complete: ForeignComplete } };

interface CallParams {
  sessionKey?: string;
  runtimeContext?: RuntimeContext;
}

/** An engine written for OpenClaw, with its parameters and answers adapted to this host. Everything else is unchanged. */
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
      const bound = value.bind(engine) as (params: unknown) => unknown;
      const member = (params?: unknown): unknown =>
        bound(foreignParams(engine, params as CallParams | undefined));
      if (name === "bootstrap")
        return async (params: unknown) => (await member(params)) ?? { bootstrapped: true };
      if (name === "compact")
        return async (params: unknown) => ownCompaction((await member(params)) as CompactResult);
      return member;
    },
  });
}

function foreignParams({ info }: ContextEngine, params: CallParams | undefined): unknown {
  const own = params?.runtimeContext;
  if (!own) return params;
  const { agentId } = own;
  const caller = { kind: "context-engine" as const, id: info.id, name: info.name };
  const complete = foreignComplete(own.llm.complete, { caller, agentId, sessionKey: params.sessionKey });
  const runtimeContext: ForeignRuntimeContext = { ...own, llm: { complete } };
  return { ...params, runtimeContext };
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

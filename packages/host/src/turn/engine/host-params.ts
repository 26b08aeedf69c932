import type { ContextEngine, ContextEngineInfo } from "@pagurus/contract/engine/engine";

/** Parameters that an engine may leave undeclared; all others are always passed. */
const OPTIONAL = new Set([
  "sessionKey",
  "prompt",
  "runtimeSettings",
  "sessionTarget",
  "runtimeContext",
  "abortSignal",
]);

/** The parameters of a call without the optional ones that the engine does not accept. Undeclared means all. */
function acceptedParams<T extends object>(info: ContextEngineInfo, params: T): T {
  const accepted = info.acceptedHostParams;
  if (!Array.isArray(accepted)) return params;
  const kept = Object.entries(params).filter(([name]) => !OPTIONAL.has(name) || accepted.includes(name));
  return Object.fromEntries(kept) as T;
}

/** Members whose host parameters include optional ones. */
const MEMBERS = [
  "bootstrap",
  "ingest",
  "ingestBatch",
  "assemble",
  "afterTurn",
  "compact",
  "interceptCompaction",
  "maintain",
  "commitTurn",
  "status",
] as const;

/** The engine as the host calls it: each member gets what `info.acceptedHostParams` accepts. */
export function withAcceptedParams(engine: ContextEngine): ContextEngine {
  if (!Array.isArray(engine.info.acceptedHostParams)) return engine;
  return new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const member = value.bind(target) as (params: object) => unknown;
      if (!(MEMBERS as readonly (string | symbol)[]).includes(name)) return member;
      return (params: object) => member(acceptedParams(target.info, params));
    },
  });
}

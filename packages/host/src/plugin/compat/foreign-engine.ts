/** Adapts OpenClaw engines whose parameters or answers differ from this host's contract. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import { isRecord } from "@pagurus/core/data/record-fields";
import type { AgentMessage } from "@pagurus/contract/message";
import { foreignComplete, type ForeignComplete } from "./foreign-llm.ts";
import { foreignMessage, hostMessage, hostMessages } from "./foreign-messages.ts";

/** The runtime context of an OpenClaw engine. */
export type ForeignRuntimeContext = Omit<RuntimeContext, "llm"> & { llm: { complete: ForeignComplete } };

interface CallParams {
  sessionKey?: string;
  message?: AgentMessage;
  messages?: AgentMessage[];
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
      if (name === "assemble") return async (params: unknown) => ownContext(await member(params));
      if (name === "compact")
        return async (params: unknown) => ownCompaction((await member(params)) as CompactResult);
      return member;
    },
  });
}

function foreignParams(engine: ContextEngine, params: CallParams | undefined): unknown {
  if (!params) return params;
  const { message, messages, runtimeContext, sessionKey } = params;
  return {
    ...params,
    ...(message && { message: foreignMessage(message) }),
    ...(messages && { messages: messages.map(foreignMessage) }),
    ...(runtimeContext && { runtimeContext: foreignContext(engine, runtimeContext, sessionKey) }),
  };
}

function foreignContext(
  { info }: ContextEngine,
  own: RuntimeContext,
  sessionKey: string | undefined,
): ForeignRuntimeContext {
  const { agentId, rewriteTranscriptEntries: rewrite } = own;
  const caller = { kind: "context-engine" as const, id: info.id, name: info.name };
  const complete = foreignComplete(own.llm.complete, { caller, agentId, sessionKey });
  return {
    ...own,
    llm: { complete },
    ...(rewrite && { rewriteTranscriptEntries: (request) => rewrite(hostRequest(request)) }),
  };
}

type RewriteParam = Parameters<NonNullable<RuntimeContext["rewriteTranscriptEntries"]>>[0];

/** A request for a rewrite with messages in this host's form. */
function hostRequest(request: RewriteParam): RewriteParam {
  if (Array.isArray(request)) return request.map(hostReplacement) as RewriteParam;
  if (!Array.isArray(request?.replacements)) return request;
  return { ...request, replacements: request.replacements.map(hostReplacement) } as RewriteParam;
}

function hostReplacement(replacement: unknown): unknown {
  return isRecord(replacement)
    ? { ...replacement, message: hostMessage(replacement["message"]) }
    : replacement;
}

/** The answer of `assemble` with messages that the host knows; the host reports an answer without a list of them. */
function ownContext(answer: unknown): unknown {
  if (!isRecord(answer) || !Array.isArray(answer["messages"])) return answer;
  return { ...answer, messages: hostMessages(answer["messages"]) };
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

/** The engine of a harness check: returns its input or a scripted answer, and records every call. */
import type { CompactParams, CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type {
  AfterTurnParams,
  AssembleParams,
  AssembleResult,
  CommitTurnParams,
  SessionParams,
} from "@pagurus/contract/engine/engine-params";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { AgentMessage } from "@pagurus/contract/message";
import { ENGINE_CONTRACT } from "@pagurus/contract/version";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import { defined } from "@pagurus/core/data/defined";

export const SUITE_ENGINE = "suite";

export interface EngineCall {
  member: "bootstrap" | "assemble" | "afterTurn" | "commitTurn" | "compact" | "maintain" | "dispose";
  sessionKey?: string;
  /** Number of model requests before it. */
  requests: number;
  /** Messages passed to a settle member. */
  messages: AgentMessage[];
  /** Content of the transcript at that time. */
  recorded: AgentMessage[];
}

export class RecordingEngine {
  readonly calls: EngineCall[] = [];
  /** Scripted fields of `assemble`'s answer, over the input messages. */
  answer: (params: AssembleParams) => Partial<AssembleResult> = () => ({});
  /** Awaited by `assemble` before it answers. */
  beforeAnswer: (params: AssembleParams) => Promise<void> = () => Promise.resolve();
  compaction: (params: CompactParams) => CompactResult = () => ({ ok: true, compacted: false });
  /** Current number of model requests. */
  readonly #requests: () => number;
  readonly #durable: boolean;

  constructor(options: { requests: () => number; durable: boolean }) {
    this.#requests = options.requests;
    this.#durable = options.durable;
  }

  /** The engine, for a host's factory. */
  engine(): ContextEngine {
    const settle = this.#durable
      ? {
          commitTurn: async (params: CommitTurnParams) => {
            this.#note("commitTurn", params, params.messages, await recordedIn(params));
            return { status: "committed" as const };
          },
        }
      : {
          afterTurn: async (params: AfterTurnParams) => {
            const { messages, prePromptMessageCount } = params;
            const messagesOfTurn = messages.slice(prePromptMessageCount);
            this.#note("afterTurn", params, messagesOfTurn, await recordedIn(params));
          },
        };
    return {
      info: {
        id: SUITE_ENGINE,
        name: "Suite",
        version: "1",
        contract: ENGINE_CONTRACT,
        ownsCompaction: true,
      },
      bootstrap: async (params) => {
        this.#note("bootstrap", params);
        return { bootstrapped: true };
      },
      ingest: async () => ({ ingested: true }),
      assemble: async (params) => {
        this.#note("assemble", params);
        await this.beforeAnswer(params);
        const answered = { messages: params.messages, ...this.answer(params) };
        return { ...answered, estimatedTokens: messagesTokens(answered.messages) };
      },
      compact: async (params) => {
        this.#note("compact", params);
        return this.compaction(params);
      },
      maintain: async (params) => {
        this.#note("maintain", params);
        return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
      },
      ...settle,
      dispose: async () => this.#note("dispose", {}),
    };
  }

  /** Calls of a member, in order. */
  of(member: EngineCall["member"]): EngineCall[] {
    return this.calls.filter((call) => call.member === member);
  }

  #note(
    member: EngineCall["member"],
    { sessionKey }: { sessionKey?: string },
    messages: AgentMessage[] = [],
    recorded: AgentMessage[] = [],
  ): void {
    this.calls.push({
      member,
      ...defined({ sessionKey }),
      requests: this.#requests(),
      messages: structuredClone(messages),
      recorded,
    });
  }
}

/** The conversation as the host's transcript holds it now. */
async function recordedIn({ runtimeContext }: SessionParams): Promise<AgentMessage[]> {
  const messages: AgentMessage[] = [];
  if (!runtimeContext) return messages;
  for await (const entry of runtimeContext.transcript.forward())
    if (entry.type === "message") messages.push(entry.message);
  return messages;
}

/**
 * A durable engine: it keeps the history in its own database, takes each turn exactly once by its advancement key, follows the
 * active path, and compacts its history.
 */
import { join } from "node:path";
import type {
  CompactParams,
  CompactResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type {
  AssembleParams,
  AssembleResult,
  BootstrapParams,
  BootstrapResult,
  CommitTurnParams,
  SessionParams,
} from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, ContextEngineInfo } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { renderSummary } from "../../../packages/contract/src/engine/summary.ts";
import { ENGINE_CONTRACT } from "../../../packages/contract/src/version.ts";
import { messagesTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { DurableStore, type StoredTurn } from "./durable-store.ts";
import { writeSummary } from "./summary.ts";

const KEEP_SHARE = 0.25;
const DEFAULT_BUDGET = 100_000;

const INFO: ContextEngineInfo = {
  id: "durable",
  name: "Durable test engine",
  version: "1.0.0",
  contract: ENGINE_CONTRACT,
  ownsCompaction: true,
  history: "live",
  assembleScope: "call",
  transcriptSemantics: {
    currentTurnFence: "before-current-turn-entry-v1",
    turnAdvancementIdempotency: "atomic-idempotent-v1",
  },
  hostRequirements: {
    "agent-run": { requiredCapabilities: ["bootstrap", "assemble-before-prompt", "compact"] },
  },
};

class DurableEngine implements ContextEngine {
  readonly info = INFO;
  readonly #store: DurableStore;

  constructor(dir: string) {
    this.#store = new DurableStore(join(dir, "durable.db"));
  }

  /** Imports entries of the transcript that the database lacks. */
  async bootstrap({ sessionId, runtimeContext }: BootstrapParams): Promise<BootstrapResult> {
    if (!runtimeContext)
      return { bootstrapped: false, reason: "There is no runtimeContext to read the session with." };
    let open: { key: string; messages: AgentMessage[] } | undefined;
    let parent: number | undefined;
    let imported = 0;
    const close = (): void => {
      if (!open) return;
      if (this.#store.addTurn(sessionId, open.key, open.messages, parent)) imported += open.messages.length;
      parent = this.#store.turnOfKey(sessionId, open.key);
      open = undefined;
    };
    for await (const entry of runtimeContext.transcript.forward()) {
      if (entry.type !== "message") continue;
      const starts = entry.message.role === "user" && open?.key !== entry.turnId;
      if (starts || !open) {
        close();
        open = { key: entry.turnId ?? entry.id, messages: [] };
      }
      open.messages.push({ ...entry.message, entryId: entry.id });
    }
    close();
    return { bootstrapped: true, importedMessages: imported };
  }

  /** Turns come whole, through `commitTurn`. */
  async ingest(): Promise<{ ingested: boolean }> {
    return { ingested: false };
  }

  async commitTurn(params: CommitTurnParams): Promise<{ status: "committed" | "duplicate" }> {
    const { sessionId, advancementKey, admission, messages } = params;
    const { effectiveParentId: before } = admission;
    const known = before === null ? undefined : this.#store.turnOfEntry(sessionId, before);
    // The previous message may be of a turn that no engine received.
    const parent = known ?? (await this.#leaf(params, admission.entryId));
    const added = this.#store.addTurn(sessionId, advancementKey, messages, parent);
    return { status: added ? "committed" : "duplicate" };
  }

  async assemble(params: AssembleParams): Promise<AssembleResult> {
    const { messages, runtimeContext } = params;
    const tokens = runtimeContext?.tokens ?? messagesTokens;
    const held = await this.#held(params);
    const given = new Set(messages.map(({ entryId }) => entryId));
    const [head] = held.slice(-1);
    const summary: AgentMessage[] =
      head?.summary === undefined ? [] : [{ role: "user", content: renderSummary(head.summary) }];
    let total = tokens([...summary, ...messages]);
    const kept: AgentMessage[][] = [];
    for (const turn of held) {
      if (turn.messages.some(({ entryId }) => entryId !== undefined && given.has(entryId))) continue;
      total += tokens(turn.messages);
      if (total > (params.tokenBudget ?? DEFAULT_BUDGET)) break;
      kept.unshift(turn.messages);
    }
    const assembled = [...summary, ...kept.flat(), ...messages];
    const epoch = head?.summary === undefined ? "0" : String(head.id);
    return {
      messages: assembled,
      estimatedTokens: tokens(assembled),
      contextProjection: { mode: "thread_bootstrap", epoch },
    };
  }

  async compact(params: CompactParams): Promise<CompactResult> {
    const { runtimeContext, tokenBudget, customInstructions: focus, abortSignal: signal } = params;
    const tokens = runtimeContext?.tokens ?? messagesTokens;
    const held = await this.#held(params);
    const keep = (tokenBudget ?? runtimeContext?.tokenBudget ?? DEFAULT_BUDGET) * KEEP_SHARE;
    const sizes = held.map((turn) => tokens(turn.messages));
    let kept = 1;
    for (let sum = sizes[0] ?? 0; kept < held.length; kept += 1) {
      sum += sizes[kept] ?? 0;
      if (sum > keep) break;
    }
    const firstKept = held[kept - 1];
    const older = held.slice(kept).reverse();
    if (!firstKept || older.length === 0)
      return { ok: true, compacted: false, reason: "There is nothing older than what is kept." };
    const previous = held.at(-1)?.summary;
    const messages = older.flatMap((turn) => turn.messages);
    const llm = runtimeContext?.provider === "offline" ? undefined : runtimeContext?.llm.complete;
    const summary = await writeSummary({ messages, previous, focus, signal, llm });
    const tokensBefore = sizes.reduce((total, size) => total + size, 0) + tokensOf(tokens, previous);
    const keptTokens = sizes.slice(0, kept).reduce((total, size) => total + size, 0);
    const tokensAfter = keptTokens + tokensOf(tokens, summary.text);
    if (tokensAfter >= tokensBefore)
      return {
        ok: true,
        compacted: false,
        reason: "The summary would not be smaller than what it stands for.",
      };
    this.#store.saveSummary(params.sessionId, firstKept.id, summary.text);
    const firstKeptEntryId = firstKept.messages[0]?.entryId;
    return {
      ok: true,
      compacted: true,
      result: {
        summary: summary.text,
        origin: summary.origin,
        ...(firstKeptEntryId === undefined ? {} : { firstKeptEntryId }),
        tokensBefore,
        tokensAfter,
      },
    };
  }

  async prepareSubagentSpawn(
    params: Parameters<NonNullable<ContextEngine["prepareSubagentSpawn"]>>[0],
  ): Promise<{ rollback(): Promise<void> }> {
    const { childSessionKey, childSessionId } = params;
    this.#store.addChild(childSessionKey, childSessionId);
    return { rollback: async () => this.#store.removeChild(childSessionKey, true) };
  }

  /** A deleted or swept child leaves no messages. */
  async onSubagentEnded({
    childSessionKey,
    reason,
  }: Parameters<NonNullable<ContextEngine["onSubagentEnded"]>>[0]): Promise<void> {
    this.#store.removeChild(childSessionKey, reason === "deleted" || reason === "swept");
  }

  async dispose(): Promise<void> {
    this.#store.close();
  }

  /** Turns of the active path, newest first. */
  async #held(params: SessionParams): Promise<StoredTurn[]> {
    return [...this.#store.chain(await this.#leaf(params))];
  }

  /** The newest turn of the active path in the database, before the entry if one is passed. */
  async #leaf({ sessionId, runtimeContext }: SessionParams, beforeId?: string): Promise<number | undefined> {
    if (!runtimeContext) return this.#store.newestTurn(sessionId);
    for await (const entry of runtimeContext.transcript.backward(beforeId)) {
      const turn = entry.type === "message" ? this.#store.turnOfEntry(sessionId, entry.id) : undefined;
      if (turn !== undefined) return turn;
    }
    return undefined;
  }
}

function tokensOf(tokens: (messages: AgentMessage[]) => number, summary: string | undefined): number {
  return summary === undefined ? 0 : tokens([{ role: "user", content: renderSummary(summary) }]);
}

/** The database is `dir/durable.db`; engines of the same folder are one engine before and after a restart. */
export function createDurableEngine(options: { dir: string }): ContextEngine {
  return new DurableEngine(options.dir);
}

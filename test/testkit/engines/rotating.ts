/**
 * An engine that owns compaction and rotates: the summary and the kept part become a new session with its own transcript file;
 * the old one stays unchanged.
 */
import { dirname, join } from "node:path";
import type {
  CompactParams,
  CompactResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type {
  CompactionEntry,
  MessageEntry,
  SessionHeader,
  TranscriptEntry,
} from "../../../packages/contract/src/session/transcript.ts";
import { ENGINE_CONTRACT, TRANSCRIPT_VERSION } from "../../../packages/contract/src/version.ts";
import { writeFileAtomic } from "../../../packages/core/src/platform/atomic-files.ts";
import { IdSource } from "../../../packages/core/src/platform/ids.ts";
import { messagesTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { compactPath, type PathCompaction } from "./path-compaction.ts";

export interface RotatingOptions {
  /** Where successors are written; default beside the session's file. */
  dir?: string;
}

/** Kept entries of finished turns; the host carries the live turn over itself. */
function keptEntries({ plan }: PathCompaction, liveTurnId: string | undefined): TranscriptEntry[] {
  return plan.kept.filter(
    (entry) => entry.type !== "rewind" && (liveTurnId === undefined || entry.turnId !== liveTurnId),
  );
}

/** The kept entries as a chain, then the summary of what came before them. */
function chain(made: PathCompaction, kept: readonly TranscriptEntry[], live: boolean): TranscriptEntry[] {
  const { plan, summary, tokensAfter } = made;
  const input: MessageEntry[] = plan.splitInput && !live ? [plan.splitInput] : [];
  const chained = [...input, ...kept].map((entry, index, all) => ({
    ...entry,
    parentId: all[index - 1]?.id ?? null,
  }));
  const newest = plan.kept.at(-1) ?? plan.firstKept;
  const compaction: CompactionEntry = {
    type: "compaction",
    id: new IdSource({ floor: newest.id }).next(),
    parentId: chained.at(-1)?.id ?? null,
    timestamp: newest.timestamp,
    summary: summary.text,
    firstKeptEntryId: plan.firstKept.id,
    ...(plan.splitInput ? { splitTurnInputId: plan.splitInput.id } : {}),
    tokensBefore: plan.tokensBefore,
    tokensAfter,
    origin: summary.origin,
  };
  return [...chained, compaction];
}

async function rotate(params: CompactParams, dir: string | undefined): Promise<CompactResult> {
  const made = await compactPath(params);
  if ("ok" in made) return made;
  const { plan, summary, tokensAfter } = made;
  const liveTurnId = params.runtimeContext?.turnId;
  const kept = keptEntries(made, liveTurnId);
  const live = liveTurnId !== undefined && plan.firstKept.turnId === liveTurnId;
  const sessionId = new IdSource({ floor: params.sessionId }).next();
  const sessionFile = join(dir ?? dirname(params.sessionFile), `${sessionId}.jsonl`);
  const header: SessionHeader = {
    type: "session",
    version: TRANSCRIPT_VERSION,
    id: sessionId,
    timestamp: plan.firstKept.timestamp,
    cwd: params.runtimeContext?.cwd ?? dirname(sessionFile),
  };
  const lines = [header, ...chain(made, kept, live)].map((line) => JSON.stringify(line));
  writeFileAtomic(sessionFile, `${lines.join("\n")}\n`);
  return {
    ok: true,
    compacted: true,
    result: { origin: summary.origin, tokensBefore: plan.tokensBefore, tokensAfter, sessionId, sessionFile },
    sessionId,
    sessionFile,
  };
}

export function createRotatingEngine(options: RotatingOptions = {}): ContextEngine {
  return {
    info: {
      id: "rotating",
      name: "Rotating test engine",
      version: "1.0.0",
      contract: ENGINE_CONTRACT,
      ownsCompaction: true,
      acceptedHostParams: ["sessionKey", "prompt", "runtimeContext", "abortSignal"],
    },
    /** The host's transcript is the record; there is nothing to add to it. */
    ingest: async () => ({ ingested: false }),
    ingestBatch: async () => ({ ingestedCount: 0 }),
    assemble: async ({ messages, runtimeContext }) => ({
      messages,
      estimatedTokens: runtimeContext?.tokens(messages) ?? messagesTokens(messages),
    }),
    compact: (params) => rotate(params, options.dir),
  };
}

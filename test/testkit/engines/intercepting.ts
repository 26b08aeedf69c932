/**
 * A classic engine that takes the in-attempt lane: it does not own compaction, it answers interceptions with an
 * outline, its `compact` asks the model, and its maintenance shortens old large tool results.
 */
import { existsSync, readFileSync } from "node:fs";
import type {
  CompactionInterceptRequest,
  CompactionInterceptResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type {
  AssembleParams,
  AssembleResult,
  BootstrapParams,
  BootstrapResult,
  MaintainParams,
} from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { ToolResultMessage } from "../../../packages/contract/src/message.ts";
import type {
  RewriteRequest,
  TranscriptRewriteResult,
} from "../../../packages/contract/src/engine/runtime-context.ts";
import { readSummary } from "../../../packages/contract/src/engine/summary.ts";
import { ENGINE_CONTRACT } from "../../../packages/contract/src/version.ts";
import { messagesTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { compactPath } from "./path-compaction.ts";
import { outline, wordsOf } from "./summary.ts";

/** Tool results of this size are shortened once they are so many messages old. */
const LARGE_CHARS = 4_000;
const SHORT_CHARS = 500;
const OLD_AFTER_MESSAGES = 8;

const NOTHING: TranscriptRewriteResult = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };

async function assemble({ messages, runtimeContext }: AssembleParams): Promise<AssembleResult> {
  return { messages, estimatedTokens: runtimeContext?.tokens(messages) ?? messagesTokens(messages) };
}

/** Only counts: the host keeps the history. */
async function bootstrap({ sessionFile }: BootstrapParams): Promise<BootstrapResult> {
  if (!existsSync(sessionFile)) return { bootstrapped: false, reason: "There is no transcript file." };
  const lines = readFileSync(sessionFile, "utf8").split("\n");
  const messages = lines.filter(
    (line) => line !== "" && (JSON.parse(line) as { type?: string }).type === "message",
  );
  return { bootstrapped: true, importedMessages: messages.length };
}

async function interceptCompaction(request: CompactionInterceptRequest): Promise<CompactionInterceptResult> {
  const { messages, signal, customInstructions, firstKeptEntryId, tokensBefore } = request;
  if (signal.aborted) return { handled: false, reason: "The compaction was aborted." };
  if (messages.length === 0) return { handled: false, reason: "There is nothing to summarize." };
  const [first] = messages;
  const previous = typeof first?.content === "string" ? readSummary(first.content) : undefined;
  const rest = previous === undefined ? messages : messages.slice(1);
  const summary = outline({ messages: rest, previous, focus: customInstructions });
  return { handled: true, summary, firstKeptEntryId, tokensBefore, details: { messages: messages.length } };
}

async function maintain({ runtimeContext, abortSignal }: MaintainParams): Promise<TranscriptRewriteResult> {
  const rewrite = runtimeContext?.rewriteTranscriptEntries;
  if (!runtimeContext || !rewrite) return { ...NOTHING, reason: "The host offers no rewriting here." };
  const wanted: RewriteRequest[] = [];
  let age = 0;
  for await (const entry of runtimeContext.transcript.backward()) {
    if (abortSignal?.aborted) return { ...NOTHING, reason: "The maintenance was aborted." };
    if (entry.type === "compaction") break;
    if (entry.type !== "message") continue;
    age += 1;
    const { message } = entry;
    if (age <= OLD_AFTER_MESSAGES || message.role !== "toolResult" || wordsOf(message).length < LARGE_CHARS)
      continue;
    wanted.push({ entryId: entry.id, message: shortened(message) });
  }
  if (wanted.length === 0) return { ...NOTHING, reason: "No old tool result is large." };
  return await rewrite(wanted.reverse());
}

function shortened(message: ToolResultMessage): ToolResultMessage {
  const text = `${wordsOf(message).slice(0, SHORT_CHARS)}\n[shortened; the whole result is in the transcript]`;
  return { ...message, content: [{ type: "text", text }] };
}

export function createInterceptingEngine(): ContextEngine {
  return {
    info: {
      id: "intercepting",
      name: "Intercepting test engine",
      version: "1.0.0",
      contract: ENGINE_CONTRACT,
      ownsCompaction: false,
      interceptsCompaction: true,
      turnMaintenanceMode: "foreground",
      hostRequirements: {
        "agent-run": {
          requiredCapabilities: ["assemble-before-prompt", "compact"],
          unsupportedMessage: "Use the embedded runtime.",
        },
      },
    },
    bootstrap,
    /** The host's transcript is the record; there is nothing to add to it. */
    ingest: async () => ({ ingested: false }),
    afterTurn: async () => undefined,
    assemble,
    async compact(params) {
      const made = await compactPath(params);
      if ("ok" in made) return made;
      const { plan, summary, tokensAfter } = made;
      return {
        ok: true,
        compacted: true,
        result: {
          summary: summary.text,
          origin: summary.origin,
          firstKeptEntryId: plan.firstKept.id,
          ...(plan.splitInput ? { splitTurnInputId: plan.splitInput.id } : {}),
          tokensBefore: plan.tokensBefore,
          tokensAfter,
          details: { messages: plan.summarized.length },
        },
      };
    },
    interceptCompaction,
    maintain,
  };
}

/** A synthetic conversation on which the doctor tests an engine; stored outside the user's store. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentMessage } from "@pagurus/contract/message";
import type { RuntimeContext } from "@pagurus/contract/engine/runtime-context";
import type { SessionHeader, TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";

export const PROBE_KEY = "pagurus-doctor";

const TURNS = 60;
const SENTENCES = 24;
/** The conversation is larger than the budget and fits the window, as before a real compaction. */
const WINDOW_TOKENS = 32_000;
const BUDGET_TOKENS = 16_000;
const CHARS_PER_TOKEN = 4;
const PROBE_START = Date.UTC(2026, 0, 1);

const ANSWER =
  "The conversation went through the modules one by one; each was read, noted and left as it was.";

export interface ProbeSession {
  sessionId: string;
  file: string;
  messages: AgentMessage[];
  entries: readonly TranscriptEntry[];
  tokens: number;
  runtimeContext: RuntimeContext;
}

/** Writes the conversation as a transcript into `folder`. `llm` returns a canned answer. */
export function makeProbeSession(folder: string, sessionId: string, config: unknown): ProbeSession {
  const file = join(folder, `${sessionId}.jsonl`);
  const entries = probeEntries();
  const header: SessionHeader = {
    type: "session",
    version: 3,
    id: sessionId,
    timestamp: new Date(PROBE_START).toISOString(),
    cwd: folder,
  };
  writeFileSync(file, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""), {
    mode: 0o600,
  });
  const messages = entries.flatMap((entry) =>
    entry.type === "message" ? [{ ...entry.message, entryId: entry.id }] : [],
  );
  const tokens = roughTokens(messages);
  return {
    sessionId,
    file,
    messages,
    entries,
    tokens,
    runtimeContext: probeContext({ folder, config, tokens, entries }),
  };
}

function probeEntries(): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  const next = (): { id: string; parentId: string | null; timestamp: string } => ({
    id: `doctor${String(entries.length + 1).padStart(10, "0")}`,
    parentId: entries.at(-1)?.id ?? null,
    timestamp: new Date(PROBE_START + entries.length * 1000).toISOString(),
  });
  for (let turn = 1; turn <= TURNS; turn++) {
    const turnId = `doctor-turn-${String(turn).padStart(4, "0")}`;
    const question = `What does src/module-${turn}.ts do, and who calls it?`;
    const answer = Array.from(
      { length: SENTENCES },
      (_, part) => `Function ${part + 1} of module ${turn} reads what module ${turn + part} wrote.`,
    ).join(" ");
    entries.push({ ...next(), type: "message", turnId, message: { role: "user", content: question } });
    entries.push({
      ...next(),
      type: "message",
      turnId,
      message: { role: "assistant", content: [{ type: "text", text: answer }], stopReason: "stop" },
    });
    entries.push({ ...next(), type: "turn_commit", turnId, outcome: "completed", finalized: true });
  }
  return entries;
}

/** Precise enough for a synthetic text; a run has a calibrated estimate. */
function roughTokens(value: string | AgentMessage | readonly AgentMessage[]): number {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

function probeContext(about: {
  folder: string;
  config: unknown;
  tokens: number;
  entries: readonly TranscriptEntry[];
}): RuntimeContext {
  return {
    config: about.config,
    provider: "offline",
    model: "offline/doctor",
    modelId: "doctor",
    agentId: "main",
    agentHarnessId: "embedded",
    cwd: about.folder,
    contextWindow: WINDOW_TOKENS,
    tokenBudget: BUDGET_TOKENS,
    currentTokenCount: about.tokens,
    tokens: roughTokens,
    // Nothing reaches a provider.
    llm: {
      complete: () =>
        Promise.resolve({ text: ANSWER, provider: "offline", model: "offline/doctor", agentId: "main" }),
    },
    allowDeferredCompactionExecution: false,
    transcript: cursorOver(about.entries),
    manualCompaction: true,
  };
}

function cursorOver(entries: readonly TranscriptEntry[]): TranscriptCursor {
  return {
    async *forward(afterId) {
      yield* entries.slice(afterId === undefined ? 0 : entries.findIndex(({ id }) => id === afterId) + 1);
    },
    async *backward(beforeId) {
      const end = beforeId === undefined ? entries.length : entries.findIndex(({ id }) => id === beforeId);
      yield* entries.slice(0, Math.max(0, end)).toReversed();
    },
    get: (id) => Promise.resolve(entries.find((entry) => entry.id === id)),
  };
}

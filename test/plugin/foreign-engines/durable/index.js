// An engine of the durable lifecycle, as those for OpenClaw are written: turns are committed by key, in a file of its
// own; what was said before it came is asked of the host by session and never read from a file.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { delegateCompactionToRuntime, prepareMemorySystemPromptAddition } from "openclaw/plugin-sdk/core";
import { buildActiveMemoryPromptSection, resolveSessionAgentId } from "openclaw/plugin-sdk/memory-host-core";

const TRANSCRIPTS = "openclaw/plugin-sdk/session-transcript-runtime";

class DurableEngine {
  info = {
    id: "small-durable",
    name: "Small durable engine",
    version: "1.0.0",
    ownsCompaction: false,
    acceptedHostParams: ["sessionKey", "sessionTarget", "runtimeContext", "runtimeSettings"],
    transcriptSemantics: {
      currentTurnFence: "before-current-turn-entry-v1",
      turnAdvancementIdempotency: "atomic-idempotent-v1",
    },
  };
  committed = new Map();
  /** Positions of messages on the path, as far as they are known. */
  known = 0;

  constructor(agentDir) {
    mkdirSync(agentDir, { recursive: true });
    this.file = join(agentDir, "small-durable.jsonl");
    const lines = existsSync(this.file) ? readFileSync(this.file, "utf8").trim().split("\n") : [];
    for (const line of lines.filter(Boolean)) {
      const { key, payload } = JSON.parse(line);
      this.committed.set(key, payload);
    }
  }

  async bootstrap({ sessionTarget, sessionId }) {
    const { readVisibleSessionTranscriptMessageEntries, readSessionTranscriptVisibleMessageDelta } =
      await import(TRANSCRIPTS);
    const entries = await readVisibleSessionTranscriptMessageEntries(sessionTarget);
    const page = await readSessionTranscriptVisibleMessageDelta({ ...sessionTarget, maxMessages: 3 });
    if (page.kind !== "page" || page.entries.length !== Math.min(3, entries.length))
      throw new Error("no page");
    const chained = entries.every(
      ({ parentId, seq }, at) => parentId === (entries[at - 1]?.entryId ?? null) && seq === at + 1,
    );
    if (!chained || sessionTarget.sessionId !== sessionId) throw new Error("the transcript is not in order");
    this.known = entries.length;
    return { bootstrapped: true, importedMessages: entries.length };
  }

  async ingest() {
    throw new Error("durable engines are not given single messages");
  }

  async afterTurn() {
    throw new Error("durable engines have their turns committed");
  }

  async commitTurn({
    advancementKey,
    admission,
    terminal,
    messages,
    sessionId,
    sessionTarget,
    runtimeSettings,
  }) {
    if (advancementKey !== admission.logicalTurnId) throw new Error("the key is not the admission's");
    if (sessionId !== admission.sessionId || terminal.generation !== admission.generation)
      throw new Error("another session");
    if (sessionTarget.storePath !== terminal.storePath) throw new Error("another store");
    const size = terminal.activeMessagePosition - admission.activeMessagePosition + 1;
    if (messages.length !== size || admission.role !== "user") throw new Error("the range is not the turn's");
    if (admission.activeMessagePosition !== this.known) throw new Error("a turn is missing or came twice");
    if (!(runtimeSettings.limits.promptTokenBudget > 0)) throw new Error("no budget");
    const payload = JSON.stringify({ admission, terminal, messages });
    const before = this.committed.get(advancementKey);
    if (before !== undefined && before !== payload) throw new Error("the key came with another turn");
    if (before !== undefined) return { status: "duplicate" };
    appendFileSync(this.file, `${JSON.stringify({ key: advancementKey, payload })}\n`);
    this.committed.set(advancementKey, payload);
    this.known += size;
    return { status: "committed" };
  }

  async assemble({ messages, availableTools, citationsMode, sessionKey }) {
    const agentId = resolveSessionAgentId({ sessionKey });
    const memory = await prepareMemorySystemPromptAddition({ availableTools, citationsMode, agentId });
    const lines = buildActiveMemoryPromptSection({ availableTools });
    if ((memory ?? "") !== lines.join("\n").trim()) throw new Error("two memories");
    return { messages, estimatedTokens: JSON.stringify(messages).length / 4, systemPromptAddition: memory };
  }

  compact(params) {
    return delegateCompactionToRuntime(params);
  }
}

export default {
  id: "small-durable",
  register(api) {
    api.registerService({
      id: "small-durable",
      start: () => api.logger.info("the service of the small engine starts"),
      stop: () => api.logger.info("the service of the small engine stops"),
    });
    api.registerContextEngine("small-durable", ({ agentDir }) => new DurableEngine(agentDir));
  },
};

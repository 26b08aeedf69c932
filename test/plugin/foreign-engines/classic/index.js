// An engine of the classic lifecycle, as those for OpenClaw are written: it knows the conversation from the transcript
// file alone, reads that in `bootstrap` and `afterTurn`, and with `rewrites` writes a shorter one in its place.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const CORE = "openclaw/plugin-sdk/core";
const { redactSensitiveText } = createRequire(import.meta.url)("openclaw/plugin-sdk/logging-core");

/** Messages of the path from the first line to the last one. */
function readPath(file) {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const [header, ...entries] = lines.map((line) => JSON.parse(line));
  if (header.type !== "session" || header.version !== 3) throw new Error("not a session file");
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const path = [];
  for (let at = entries.at(-1); at; at = known.get(at.parentId)) path.unshift(at);
  return path.filter(({ type }) => type === "message");
}

class ClassicEngine {
  info = {
    id: "small-classic",
    name: "Small classic engine",
    version: "1.0.0",
    ownsCompaction: true,
    acceptedHostParams: ["sessionKey", "prompt", "runtimeContext", "runtimeSettings"],
    hostRequirements: {
      "agent-run": {
        requiredCapabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "compact"],
        unsupportedMessage: "The small engine needs the whole lifecycle.",
      },
    },
  };
  entries = [];
  summary;
  firstKept = 0;

  constructor(api) {
    this.api = api;
  }

  async bootstrap({ sessionFile, sessionId }) {
    if (!sessionId || !statSync(sessionFile).isFile()) throw new Error("no transcript");
    this.entries = readPath(sessionFile);
    return { bootstrapped: true, importedMessages: this.entries.length };
  }

  async ingest() {
    throw new Error("afterTurn is there, so nothing is ingested");
  }

  async assemble({
    messages,
    availableTools,
    citationsMode,
    prompt,
    tokenBudget,
    runtimeSettings,
    sessionTarget,
  }) {
    if (
      !(availableTools instanceof Set) ||
      !["string", "undefined"].includes(typeof prompt) ||
      !(tokenBudget > 0)
    )
      throw new Error("assemble lacks what OpenClaw gives");
    if (runtimeSettings?.schemaVersion !== 1 || sessionTarget !== undefined)
      throw new Error("acceptedHostParams are not obeyed");
    const { buildMemorySystemPromptAddition } = await import(CORE);
    const kept =
      this.summary === undefined
        ? messages
        : this.entries.slice(this.firstKept).map(({ message }) => message);
    const head =
      this.summary === undefined ? [] : [{ role: "user", content: `<summary>${this.summary}</summary>` }];
    return {
      messages: [...head, ...kept],
      estimatedTokens: JSON.stringify(kept).length / 4,
      systemPromptAddition: buildMemorySystemPromptAddition({ availableTools, citationsMode }),
    };
  }

  async afterTurn({ sessionFile, messages, prePromptMessageCount, runtimeContext }) {
    if (!runtimeContext.config || !runtimeContext.provider) throw new Error("no model can be resolved");
    this.entries = readPath(sessionFile);
    const turn = messages.slice(prePromptMessageCount);
    const known = this.entries.slice(-turn.length).map(({ message }) => message.role);
    if (turn.map(({ role }) => role).join() !== known.join())
      throw new Error("the transcript lacks the turn");
    if (this.api.pluginConfig.rewrites) rewrite(sessionFile);
  }

  async compact({ force, tokenBudget, customInstructions, runtimeContext }) {
    if (!(tokenBudget > 0)) return { ok: false, compacted: false, reason: "no token budget" };
    const cut = this.entries.length - (this.api.pluginConfig.tail ?? 8);
    const start = this.entries.findIndex(({ message }, at) => at >= cut && message.role === "user");
    if (!force && start <= this.firstKept)
      return { ok: true, compacted: false, reason: "nothing is old enough" };
    const older = this.entries
      .slice(this.firstKept, start)
      .map(({ message }) => JSON.stringify(message.content));
    const complete = runtimeContext?.llm?.complete ?? this.api.runtime.llm.complete;
    const { text } = await complete({
      messages: [{ role: "user", content: redactSensitiveText(older.join("\n")) }],
      systemPrompt: `Summarize. ${customInstructions ?? ""}`,
      maxTokens: 500,
      purpose: "small-classic summary",
    });
    this.summary = [this.summary, text].filter(Boolean).join("\n");
    this.firstKept = start;
    return { ok: true, compacted: true, result: { tokensBefore: older.length, tokensAfter: 1, details: {} } };
  }

  async maintain() {
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  }
}

/** What engines do that keep their host's files small: the header and the newest messages, in the same file. */
function rewrite(file) {
  const [header, ...lines] = readFileSync(file, "utf8").trim().split("\n");
  const kept = lines
    .slice(-2)
    .map((line, at) => JSON.stringify({ ...JSON.parse(line), ...(at === 0 && { parentId: null }) }));
  writeFileSync(file, `${[header, ...kept].join("\n")}\n`);
}

/** Asks an agent of its own, as the tools of such engines do. */
async function delegate(subagent) {
  const sessionKey = `agent:main:subagent:${crypto.randomUUID()}`;
  const { runId } = await subagent.run({
    sessionKey,
    message: "Say it.",
    extraSystemPrompt: "Be brief.",
    deliver: false,
  });
  const { status } = await subagent.waitForRun({ runId, timeoutMs: 10_000 });
  const { messages } = await subagent.getSessionMessages({ sessionKey, limit: 80 });
  await subagent.deleteSession({ sessionKey, deleteTranscript: true });
  const { messages: left } = await subagent.getSessionMessages({ sessionKey });
  return JSON.stringify([
    status,
    messages.map(({ role }) => role),
    messages.at(-1)?.content[0]?.text,
    left.length,
  ]);
}

export default definePluginEntry({
  id: "small-classic",
  name: "Small classic engine",
  description: "Knows the conversation from its transcript file.",
  register(api) {
    if (typeof api.registerContextEngine !== "function") throw new Error("unsupported host");
    if (api.registrationMode !== "full" || api.runtime.inspection?.readOnly) return;
    const log = api.runtime.logging?.getChildLogger?.({ plugin: api.id }) ?? api.logger;
    const state = { started: 0, ended: [] };
    api.on("gateway_start", () => void (state.started += 1));
    api.on("gateway_stop", () => log.info("the small engine stops"));
    api.on(
      "before_reset",
      ({ reason }, { sessionKey }) => void state.ended.push(`before ${reason} ${sessionKey}`),
    );
    api.on("session_end", ({ reason, sessionKey, nextSessionKey }) => {
      if (reason !== "restart" && reason !== "shutdown")
        state.ended.push(`${reason} ${sessionKey} ${nextSessionKey}`);
    });
    api.on("before_prompt_build", () => ({ prependSystemContext: "Recall with small_grep." }));
    let engine;
    api.registerContextEngine("small-classic", () => (engine ??= new ClassicEngine(api)));
    api.registerTool(
      ({ sessionKey }) => ({
        name: "small_grep",
        label: "Grep",
        description: "Finds words in what was said.",
        parameters: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
        async execute(toolCallId, { words }, signal) {
          if (typeof toolCallId !== "string" || signal?.aborted !== false)
            throw new Error("not called as a tool");
          const found = engine.entries.filter(({ message }) => JSON.stringify(message).includes(words));
          const text = JSON.stringify({ sessionKey, found: found.length });
          return { content: [{ type: "text", text }], details: { found: found.length } };
        },
      }),
      { name: "small_grep" },
    );
    api.registerCommand({
      name: "small",
      nativeNames: { default: "small-classic" },
      description: "Says what the small engine knows.",
      acceptsArgs: true,
      handler: async ({ args, sessionKey, config }) => {
        if (args === "delegate") return { text: await delegate(api.runtime.subagent) };
        const facts = [args, sessionKey, engine?.entries.length ?? 0, Boolean(config), state.started];
        return { text: [...facts, ...state.ended].join(" ") };
      },
    });
    api.session?.controls?.registerSessionAction?.({ id: "small-control" });
  },
});

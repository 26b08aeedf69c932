/** A plugin written from OpenClaw's types; its engine is `engine.ts`. */
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";
import { readVisibleSessionTranscriptMessageEntries } from "openclaw/plugin-sdk/session-transcript-runtime";
import type { TheirApi } from "../openclaw.ts";
import { note } from "./calls.ts";
import { durableFactory } from "./durable.ts";
import { probeFactory } from "./engine.ts";

/** The tool of the turn with a child, whose calls are not looked at. */
const SPAWN = "spawn_agent";

/** The session of the test, or one of its children. */
function isOurs(sessionKey: string | undefined): boolean {
  return sessionKey?.split("/", 1)[0] === "main";
}

function registerHooks(api: TheirApi): void {
  api.on("before_prompt_build", ({ prompt, messages }) => {
    note("before_prompt_build", { prompt: prompt !== "", messages: Array.isArray(messages) });
    return { appendSystemContext: "The probe's hook.", toolsAllow: ["read", "glob", SPAWN] };
  });
  api.on("before_tool_call", ({ toolName, params, toolCallId }) => {
    if (toolName === SPAWN) return undefined;
    note("before_tool_call", { toolName: toolName === "glob", id: toolCallId === "call-1" });
    return { params: { ...params, pattern: "*.none" } };
  });
  api.on("after_tool_call", ({ toolName, params, result, durationMs }) => {
    if (toolName === SPAWN) return;
    note("after_tool_call", {
      toolName: toolName === "glob",
      params: params["pattern"] === "*.none",
      result: result !== undefined,
      durationMs: typeof durationMs === "number",
    });
  });
  api.on("tool_result_persist", ({ message, toolName }) => {
    if (toolName === SPAWN) return;
    note("tool_result_persist", { role: message.role === "toolResult", toolName: toolName === "glob" });
  });
  api.on("llm_output", ({ resolvedRef, assistantTexts, runId, usage }) => {
    note("llm_output", {
      resolvedRef: typeof resolvedRef === "string",
      texts: assistantTexts.length > 0,
      runId: typeof runId === "string",
      usage: Number(usage?.output) > 0,
    });
  });
  api.on("agent_end", ({ messages, success, durationMs }, { sessionKey }) => {
    note("agent_end", {
      messages: messages.length > 0,
      success,
      durationMs: Number(durationMs) >= 0,
      sessionKey: isOurs(sessionKey),
    });
  });
  api.on("message_received", ({ content, from, sessionKey }) => {
    note("message_received", { content: content !== "", from: from !== "", key: isOurs(sessionKey) });
  });
  api.on("session_start", ({ sessionId, sessionKey }) => {
    note("session_start", { sessionId: sessionId !== "", sessionKey: isOurs(sessionKey) });
  });
  api.on("before_model_resolve", ({ prompt, attachments }) => {
    note("before_model_resolve", { prompt: prompt !== "", attachments: attachments === undefined });
    return { modelOverride: "model" };
  });
  api.on("before_agent_finalize", (event, { sessionKey }) => {
    note("before_agent_finalize", {
      lastAssistantMessage: event.lastAssistantMessage === "Done.",
      stopHookActive: typeof event.stopHookActive === "boolean",
      messages: Number(event.messages?.length) > 1,
      ids: event.sessionId !== "" && event.sessionKey === sessionKey && typeof event.runId === "string",
      model: event.provider === "test" && event.model === "model",
      cwd: typeof event.cwd === "string",
    });
    return event.stopHookActive
      ? { action: "continue" }
      : { action: "revise", reason: "Again.", retry: { instruction: "Say it once more.", maxAttempts: 1 } };
  });
  api.on("before_agent_run", ({ prompt }) => {
    note("before_agent_run", { prompt: prompt !== "" });
    return { outcome: "pass" };
  });
}

/** Hooks on compactions, children and ends of sessions. */
function registerMoreHooks(api: TheirApi): void {
  api.on("before_compaction", ({ messageCount, messages, tokenCount }, { sessionKey }) => {
    note("before_compaction", {
      messageCount: messageCount >= 2 && messages?.length === messageCount,
      tokenCount: Number(tokenCount) >= 0,
      sessionKey: sessionKey === "main",
    });
  });
  api.on("after_compaction", ({ messageCount, tokenCount }) => {
    note("after_compaction", { messageCount: messageCount >= 2, tokenCount: Number(tokenCount) >= 0 });
  });
  api.on("session_end", ({ sessionId, sessionKey, messageCount, reason }) => {
    note("session_end", {
      ids: sessionId !== "" && sessionKey !== "",
      messageCount: messageCount >= 2,
      reason: reason === "shutdown",
    });
  });
  api.on("subagent_spawned", (event, { childSessionKey, requesterSessionKey }) => {
    note("subagent_spawned", {
      keys: event.childSessionKey === childSessionKey && requesterSessionKey === "main",
      agentId: event.agentId === "main",
      mode: event.mode === "run" && !event.threadRequested,
    });
  });
  api.on("subagent_ended", ({ targetSessionKey, targetKind, outcome, endedAt }) => {
    note("subagent_ended", {
      target: targetSessionKey !== "" && targetKind === "subagent",
      outcome: outcome === "ok",
      endedAt: Number(endedAt) > 0,
    });
  });
  api.on("gateway_start", (_event, { config }) => {
    note("gateway_start", { config: typeof config === "object" });
  });
}

export default definePluginEntry({
  id: "probe",
  name: "Probe",
  description: "Calls the host in OpenClaw's form.",
  register(api: TheirApi) {
    note("api", {
      id: api.id === "probe",
      mode: api.registrationMode === "full",
      config: typeof api.config === "object",
      path: api.resolvePath("x").endsWith("/x"),
    });
    api.registerContextEngine(
      "probe",
      probeFactory((target) => readVisibleSessionTranscriptMessageEntries(target)),
    );
    api.registerContextEngine("probe-durable", durableFactory);
    registerHooks(api);
    registerMoreHooks(api);
    const { runContext } = api;
    runContext.setRunContext({ runId: "r", namespace: "n", value: { a: 1 } });
    note("runContext", {
      value: JSON.stringify(runContext.getRunContext({ runId: "r", namespace: "n" })) === '{"a":1}',
    });
    api.registerService({ id: "probe-service", start: () => note("service.start", {}) });
    api.logger.info("registered");
  },
});

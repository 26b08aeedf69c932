/** Prepare stage: tools, instructions, project files, and the remaining budget for the conversation. */
import { closedFiles } from "@pagurus/core/config/closed-files";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import type { HookContext } from "@pagurus/contract/host/hooks";
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";
import { BUNDLED_SKILLS } from "../../skill/bundled-skills.ts";
import type { TurnSkills } from "../../skill/section.ts";
import { resultsFolder } from "../record/large-results.ts";
import { narrowable } from "../context/narrowed-tools.ts";
import { createPlanTool } from "../../tool/plan-tool.ts";
import type { ExtraTool, ToolSetOptions } from "../../tool/toolset.ts";
import { folderOf } from "../agent/session-key.ts";
import { budgetFor } from "../context/context-budget.ts";
import { measuredFixed, ownPieces, takesTools, toolSetFor } from "../context/own-parts.ts";
import { runHooks, type HookOptions } from "../guard/turn-hooks.ts";
import { citationsMode, memoryForTurn, type MemoryTurn } from "../agent/turn-memory.ts";
import { NO_OUTER_TOOLS, type OuterOffer } from "../agent/outer-port.ts";
import { offerForTurn } from "./outer-tools.ts";
import { surfaceToolsOf } from "./surface-port.ts";
import { showPlan } from "../state/turn-plan.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { Admitted } from "../state/admitted.ts";
import type { Prepared } from "../state/prepared.ts";
import { PathRules } from "./path-rules.ts";
import { fixedTokens, memoryPieces, readSystem } from "./system-prompt.ts";
import { middlewaresFor, surrounded } from "./tool-middleware.ts";
import { hintsFor, skillPieces, skillsFor } from "./turn-skills.ts";
import { defined } from "@pagurus/core/data/defined";

/** What the turn needs before its engine is called. */
export async function prepare(turn: Admitted): Promise<Prepared> {
  const { host, request, cwd, model, engine, guard, signal, harness, sessionKey } = turn;
  const last = turn.receipts.lastOwn();
  const skills = skillsFor(host, cwd, harness, request.prompt);
  const own = [...ownTools(turn), createPlanTool((made) => showPlan(turn, made))];
  const outer = takesTools(harness) ? await offerForTurn(turn) : NO_OUTER_TOOLS.known();
  const withoutMemory = turnTools(turn, own, { skills, outer });
  // The notes are for the owner alone.
  const memory: MemoryTurn =
    request.audience !== undefined
      ? { sections: [] }
      : await memoryForTurn({
          slot: host.memory,
          cwd,
          guard,
          signal,
          availableTools: withoutMemory.specs.map(({ name }) => name),
          citations: citationsMode(host),
        });
  const tools = memory.tool ? turnTools(turn, [...own, memory.tool], { skills, outer }) : withoutMemory;
  const pieces = ownPieces(harness, () => {
    const read = readSystem(cwd, host.trust.isTrusted(cwd));
    for (const detail of read.notices) turn.channel.emit({ type: "notice", kind: "instructions", detail });
    return [...read.pieces, ...skillPieces(skills)];
  });
  const system = [...pieces, ...memoryPieces(engine, memory.sections)];
  const measured = measuredFixed(harness, sessionKey, last, model.contextWindow);
  const fixed = measured ?? fixedTokens(system, tools);
  const content: (TextPart | ImagePart)[] = [
    ...(request.prompt === "" ? [] : [{ type: "text" as const, text: request.prompt.toWellFormed() }]),
    ...(request.parts ?? []).map((part) =>
      part.type === "text" ? { ...part, text: part.text.toWellFormed() } : part,
    ),
  ];
  return {
    tools: narrowable(tools),
    system,
    memorySections: memory.sections,
    fixedTokens: fixed,
    isMeasured: measured !== undefined,
    tokenBudget: budgetFor(host, model.contextWindow, fixed, engine.info),
    input: { role: "user", content, timestamp: Date.now() },
    skillHints: hintsFor(turn, skills),
  };
}

/** The host's tools for this session. */
function ownTools(turn: Admitted): ExtraTool[] {
  const { host, request, sessionKey, session, turnId, cwd, model, harness, engine, guard } = turn;
  const leaf = session.writer.leafId;
  const spawn = host.subagents.tool({
    sessionKey,
    sessionId: session.writer.record.sessionId,
    turnId,
    cwd,
    // A child of a turn with the configured model has the configured fallbacks, too.
    modelRef: request.model === undefined && host.settings.fallbacks.length > 0 ? undefined : model.ref,
    permission: request.permission,
    ...defined({ audience: request.audience }),
    cost: turn.cost,
    harness,
    engine,
    guard,
    forkAt: () => leaf,
    signal: turn.signal,
    emit: (event) => turn.channel.emit(event),
  });
  return spawn ? [spawn] : [];
}

/** The outcome after `tool_result_persist`; undefined when no handler changes it. */
async function keptResult(
  host: AgentHost,
  { toolCallId, toolName, outcome }: { toolCallId: string; toolName: string; outcome: ToolOutcome },
  context: HookContext,
  options: HookOptions,
): Promise<ToolOutcome | undefined> {
  const payload = { toolCallId, toolName, outcome };
  const { answers } = await runHooks(host.hooks, "tool_result_persist", payload, context, options, {
    next: (seen, result) => (result.outcome ? { ...seen, outcome: result.outcome } : seen),
  });
  return answers.findLast(({ result }) => result.outcome)?.result.outcome;
}

function turnTools(
  turn: Admitted,
  own: readonly ExtraTool[],
  { skills, outer }: { skills: TurnSkills; outer: OuterOffer },
): ToolSet {
  const { host, request, cwd, sessionKey, session, turnId, guard, signal, channel } = turn;
  const { writer } = session;
  const context = { sessionKey, sessionId: writer.record.sessionId, agentId: host.agentId, turnId };
  const rules = new PathRules({ cwd, trusted: host.trust.isTrusted(cwd) }, channel);
  const hookOptions = {
    signal,
    logger: host.logger,
    onFailure: (reason: string) => guard.degrade("hook", reason),
  };
  const options: ToolSetOptions = {
    cwd,
    permission: {
      ...host.settings.permission,
      allow: [...(host.settings.permission.allow ?? []), ...outer.allow],
      mode: request.permission ?? host.settings.permission.mode,
    },
    ...defined({ ask: host.askPermission }),
    remember: (rule) => host.rememberPermission(rule),
    extra: [...host.pluginTools, ...outer.tools, ...own],
    more: surfaceToolsOf(host, {
      cost: turn.cost,
      onUnwritten: (reason) => guard.degrade("transcript", reason),
    }),
    native: turn.harness.nativeTools,
    readable: [...skills.folders, BUNDLED_SKILLS, resultsFolder(writer.record.file)],
    remembered: host.remembered,
    context: toolContext(turn),
    env: host.env,
    home: host.home,
    closedFiles: closedFiles(host.config, host.home, host.env),
    looks: host.looks,
    onNotice: (detail) => channel.emit({ type: "notice", kind: "held", detail }),
    onOutput: (toolCallId, chunk) => channel.emit({ type: "tool.output", toolCallId, chunk }),
    // Only a turn that can be continued after a crash has use for it.
    ...(request.turnId === undefined ? {} : { onRun: ({ id }) => turn.recorder.toolRuns(id) }),
    beforeChange: ({ id }, ofCall) => turn.checkpoint.ready(id, ofCall),
    beforeCall: async (call) => {
      const payload = { toolCallId: call.id, toolName: call.name, params: call.arguments };
      const { answers, blocked } = await runHooks(
        host.hooks,
        "before_tool_call",
        payload,
        context,
        hookOptions,
        { next: (seen, result) => (result.params ? { ...seen, params: result.params } : seen) },
      );
      if (blocked !== undefined) return { block: true, blockReason: blocked };
      const block = answers.find(({ result }) => result.block)?.result;
      if (block) return { block: true, blockReason: block.blockReason ?? "A hook blocked the call." };
      const params = answers.findLast(({ result }) => result.params)?.result.params;
      return params ? { params } : undefined;
    },
    around: (call, run, ofCall) => {
      const { id: toolCallId, name: toolName, arguments: params } = call;
      const runtime = turn.harness.id;
      const surroundedCall = { ...context, toolCallId, toolName, params, runtime, cwd, signal: ofCall };
      return surrounded(middlewaresFor(host.toolMiddlewares, toolName), surroundedCall, run, hookOptions);
    },
    afterCall: async (call, outcome, durationMs) => {
      const payload = {
        toolCallId: call.id,
        toolName: call.name,
        params: call.arguments,
        outcome,
        durationMs,
      };
      await runHooks(host.hooks, "after_tool_call", payload, context, hookOptions);
      const kept = await keptResult(host, payload, context, hookOptions);
      return rules.added(call, kept ?? outcome) ?? kept;
    },
  };
  return toolSetFor(turn.harness, options, host.engineTools, request.audience);
}

function toolContext({ host, request, sessionKey, session, cwd }: Admitted): ToolSetOptions["context"] {
  const context = { sessionKey, sessionId: session.writer.record.sessionId };
  if (request.audience !== undefined) return context;
  const folder = folderOf(host, cwd) ?? cwd;
  const { shared } = host.store;
  return {
    ...context,
    ...defined({ sharedSearch: shared?.search }),
    // This session's key too: it may have older conversations.
    folderSessions: () => host.store.inFolder(folder).map((record) => record.sessionKey),
  };
}

/** Third room: tools, instructions, project files, and the budget that is left for the conversation. */
import type { CompactionFlags } from "../compaction/policy.ts";
import { DEFAULT_CONTEXT_ENGINE, DEFAULT_TOOL_RESULT_MAX_CHARS } from "../config/defaults.ts";
import type { ContextEngine } from "../contract/engine.ts";
import type { CitationsMode } from "../contract/memory.ts";
import type { ImagePart, TextPart, UserMessage } from "../contract/message.ts";
import type { Receipt } from "../contract/receipt.ts";
import type { ToolSet } from "../contract/tool.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import type { TurnSkills } from "../skill/section.ts";
import { projectInstructions } from "../tool/instructions.ts";
import { createPlanTool } from "../tool/plan-tool.ts";
import type { ExtraTool, ToolSetOptions } from "../tool/toolset.ts";
import { contextBudget } from "./budget.ts";
import { measuredFixed, ownPieces, takesTools, toolSetFor } from "./harness-own.ts";
import { runHooks } from "./hooks.ts";
import { memoryForTurn } from "./memory.ts";
import { NO_OUTER_TOOLS, type OuterOffer } from "./outer-port.ts";
import { offerForTurn } from "./outer-tools.ts";
import { PlanBoard } from "./plan.ts";
import type { SystemPiece } from "./receipt-parts.ts";
import type { Admission, AgentHost } from "./scope.ts";
import { BASE_INSTRUCTIONS } from "./instructions.ts";
import { skillPieces, skillsFor } from "./skills.ts";

export interface Prepared {
  tools: ToolSet;
  system: SystemPiece[];
  plan: PlanBoard;
  /** What the memory of the slot says, for an engine that adds it by itself. */
  memorySections: string[];
  /** Tokens of system prompt and tools, and whether the harness was seen to send as many. Another request may tell anew. */
  fixedTokens: number;
  isMeasured: boolean;
  /** Tokens for history and live turn. */
  tokenBudget: number;
  input: UserMessage & { content: (TextPart | ImagePart)[] };
}

/** The base system prompt: ours, the working folder, then the project's own instruction files, outermost first. */
export function systemPieces(cwd: string): SystemPiece[] {
  return readSystem(cwd).pieces;
}

/** The same with a sentence for each instruction file that is not there as a whole. */
function readSystem(cwd: string): { pieces: SystemPiece[]; notices: string[] } {
  const pieces: SystemPiece[] = [
    { source: "system", text: `${BASE_INSTRUCTIONS}\n\nWorking folder: ${cwd}` },
  ];
  const notices: string[] = [];
  for (const { path, text, cut, unreadable } of projectInstructions(cwd)) {
    if (unreadable !== undefined) {
      notices.push(`The project instructions in ${path} were left out: ${unreadable}.`);
      continue;
    }
    if (cut)
      notices.push(
        `Of the project instructions in ${path} the first ${cut.toBytes} of ${cut.fromBytes} bytes are sent.`,
      );
    pieces.push({
      source: "instructions",
      path,
      text: `<project_instructions path="${path}">\n${text}\n</project_instructions>`,
      ...(cut ? { trimmed: cut } : {}),
    });
  }
  return { pieces, notices };
}

export function fixedTokens(system: readonly SystemPiece[], tools: ToolSet): number {
  const text = system.map((piece) => piece.text).join("\n\n") + JSON.stringify(tools.specs);
  return estimateTokens(text);
}

/** The same for a turn, a preview, `status` and `/compact`, before and after the configuration is read again. */
export function budgetFor(host: AgentHost, window: number, fixed: number, flags: CompactionFlags): number {
  return contextBudget(window, fixed, host.config.agents?.defaults?.compaction, flags);
}

/** What the harness adds by itself is known, or known anew. */
export function noteFixed(prepared: Prepared, admission: Admission, tokens: number): void {
  if (!Number.isFinite(tokens) || tokens < 0) return;
  const { host, model, engine } = admission;
  prepared.isMeasured = true;
  prepared.fixedTokens = tokens;
  prepared.tokenBudget = budgetFor(host, model.contextWindow, tokens, engine.info);
}

/** `last`: the session's newest receipt. */
export async function prepare(admission: Admission, last: Receipt | undefined): Promise<Prepared> {
  const { host, request, cwd, model, engine, guard, signal, harness, sessionKey } = admission;
  const plan = new PlanBoard((event) => admission.emit(event));
  const skills = skillsFor(host, cwd, harness);
  const own = [...ownTools(admission), createPlanTool((made) => plan.show(made))];
  const outer = takesTools(harness) ? await offerForTurn(admission) : NO_OUTER_TOOLS.known();
  const withoutMemory = turnTools(admission, own, { skills, outer });
  const memory = await memoryForTurn({
    slot: host.memory,
    cwd,
    guard,
    signal,
    availableTools: withoutMemory.specs.map(({ name }) => name),
    citations: citationsMode(host),
  });
  const tools = memory.tool ? turnTools(admission, [...own, memory.tool], { skills, outer }) : withoutMemory;
  const pieces = ownPieces(harness, () => {
    const read = readSystem(cwd);
    for (const detail of read.notices) admission.emit({ type: "notice", kind: "instructions", detail });
    return [...read.pieces, ...skillPieces(skills)];
  });
  const system = [...pieces, ...memoryPieces(engine, memory.sections)];
  const measured = measuredFixed(harness, sessionKey, last, model.contextWindow);
  const fixed = measured ?? fixedTokens(system, tools);
  const content: (TextPart | ImagePart)[] = [
    ...(request.prompt === "" ? [] : [{ type: "text" as const, text: request.prompt }]),
    ...(request.parts ?? []),
  ];
  return {
    tools,
    system,
    plan,
    memorySections: memory.sections,
    fixedTokens: fixed,
    isMeasured: measured !== undefined,
    tokenBudget: budgetFor(host, model.contextWindow, fixed, engine.info),
    input: { role: "user", content, timestamp: Date.now() },
  };
}

/** What one tool result may have in the smallest window. */
const LEAST_RESULT_CHARS = 2_000;

/**
 * Characters of one tool result that are sent. The default is at most one a token of the window, about a quarter of
 * it, and where instructions and tools take much of it no more than three for two tokens of the rest: a single file
 * read must not fill a small model.
 */
export function toolResultLimit(host: AgentHost, window: number, tokenBudget: number): number {
  const rest = Math.max(LEAST_RESULT_CHARS, Math.floor(tokenBudget * 1.5));
  const configured = host.config.agents?.defaults?.toolResultMaxChars ?? DEFAULT_TOOL_RESULT_MAX_CHARS;
  return configured === DEFAULT_TOOL_RESULT_MAX_CHARS ? Math.min(configured, window, rest) : configured;
}

/** Under `legacy` the host adds the active memory section; other engines do. */
export function memoryPieces(engine: ContextEngine, sections: readonly string[]): SystemPiece[] {
  if (engine.info.id !== DEFAULT_CONTEXT_ENGINE || sections.length === 0) return [];
  return [{ source: "memory", text: sections.join("\n") }];
}

export function citationsMode(host: AgentHost): CitationsMode {
  return host.config.memory?.citations ?? "auto";
}

/** Tools of the host that belong to this session. */
function ownTools(admission: Admission): ExtraTool[] {
  const { host, request, sessionKey, writer, turnId, cwd, model, harness, engine, guard } = admission;
  const leaf = writer.leafId;
  const spawn = host.subagents.tool({
    sessionKey,
    sessionId: writer.record.sessionId,
    turnId,
    cwd,
    modelRef: model.ref,
    permission: request.permission,
    cost: admission.cost,
    harness,
    engine,
    guard,
    forkAt: () => leaf,
    signal: admission.signal,
    emit: (event) => admission.emit(event),
  });
  return spawn ? [spawn] : [];
}

function turnTools(
  admission: Admission,
  own: readonly ExtraTool[],
  { skills, outer }: { skills: TurnSkills; outer: OuterOffer },
): ToolSet {
  const { host, request, cwd, sessionKey, writer, turnId, guard, signal, emit } = admission;
  const context = { sessionKey, sessionId: writer.record.sessionId, agentId: host.agentId, turnId };
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
      mode: request.permission ?? host.settings.permission.mode ?? "ask",
    },
    ...(host.askPermission ? { ask: host.askPermission } : {}),
    remember: (rule) => host.rememberPermission(rule),
    extra: [...host.pluginTools, ...outer.tools, ...own],
    native: admission.harness.nativeTools,
    readable: skills.folders,
    remembered: host.remembered,
    context: { sessionKey, sessionId: writer.record.sessionId },
    env: host.env,
    onOutput: (toolCallId, chunk) => emit({ type: "tool.output", toolCallId, chunk }),
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
    afterCall: async (call, outcome, durationMs) => {
      const payload = {
        toolCallId: call.id,
        toolName: call.name,
        params: call.arguments,
        outcome,
        durationMs,
      };
      await runHooks(host.hooks, "after_tool_call", payload, context, hookOptions);
    },
  };
  return toolSetFor(admission.harness, options, host.engineTools);
}

/** Third room: tools, instructions, project files, and the budget that is left for the conversation. */
import type { ImagePart, TextPart, UserMessage } from "../contract/message.ts";
import type { ToolSet } from "../contract/tool.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { projectInstructions } from "../tool/instructions.ts";
import { createToolSet } from "../tool/toolset.ts";
import { contextBudget } from "./budget.ts";
import { runHooks } from "./hooks.ts";
import type { SystemPiece } from "./receipt-parts.ts";
import type { Admission, AgentHost } from "./scope.ts";
import { BASE_INSTRUCTIONS } from "./instructions.ts";

export interface Prepared {
  tools: ToolSet;
  system: SystemPiece[];
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

export function budgetFor(host: AgentHost, window: number, fixed: number): number {
  return contextBudget(window, fixed, host.config.agents?.defaults?.compaction);
}

export function prepare(admission: Admission): Prepared {
  const { host, request, cwd, model } = admission;
  const tools = turnTools(admission);
  const { pieces: system, notices } = readSystem(cwd);
  for (const detail of notices) admission.emit({ type: "notice", kind: "instructions", detail });
  const content: (TextPart | ImagePart)[] = [
    ...(request.prompt === "" ? [] : [{ type: "text" as const, text: request.prompt }]),
    ...(request.parts ?? []),
  ];
  return {
    tools,
    system,
    tokenBudget: budgetFor(host, model.contextWindow, fixedTokens(system, tools)),
    input: { role: "user", content, timestamp: Date.now() },
  };
}

function turnTools(admission: Admission): ToolSet {
  const { host, request, cwd, sessionKey, writer, turnId, guard, signal, emit } = admission;
  const context = { sessionKey, sessionId: writer.record.sessionId, agentId: host.agentId, turnId };
  const hookOptions = {
    signal,
    logger: host.logger,
    onFailure: (reason: string) => guard.degrade("hook", reason),
  };
  return createToolSet({
    cwd,
    permission: {
      ...host.settings.permission,
      mode: request.permission ?? host.settings.permission.mode ?? "ask",
    },
    ...(host.askPermission ? { ask: host.askPermission } : {}),
    remember: (rule) => host.rememberPermission(rule),
    extra: [...host.pluginTools],
    remembered: host.remembered,
    context: { sessionKey, sessionId: writer.record.sessionId },
    env: host.env,
    onOutput: (toolCallId, chunk) => emit({ type: "tool.output", toolCallId, chunk }),
    beforeCall: async (call) => {
      const payload = { toolCallId: call.id, toolName: call.name, params: call.arguments };
      const { results, blocked } = await runHooks(
        host.hooks,
        "before_tool_call",
        payload,
        context,
        hookOptions,
        (seen, result) => (result.params ? { ...seen, params: result.params } : seen),
      );
      if (blocked !== undefined) return { block: true, blockReason: blocked };
      const block = results.find((result) => result.block);
      if (block) return { block: true, blockReason: block.blockReason ?? "A hook blocked the call." };
      const params = results.findLast((result) => result.params)?.params;
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
  });
}

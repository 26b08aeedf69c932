/** `before_prompt_build` and the final system prompt. The order is fixed: the design, "Prompt order"; harness port, section 4. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { TurnContext } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import type { AssembleResult } from "@pagurus/contract/engine/engine-params";
import type { ContextScope } from "./context-scope.ts";
import { runHooks } from "../guard/turn-hooks.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import { defined } from "@pagurus/core/data/defined";

/** Options of a harness's assemble call. */
export type AssembleRequest = NonNullable<Parameters<TurnContext["assemble"]>[0]>;

type PromptScope = Pick<
  ContextScope,
  | "host"
  | "guard"
  | "harness"
  | "sessionKey"
  | "sessionId"
  | "turnId"
  | "signal"
  | "system"
  | "prompt"
  | "tools"
>;

/** The texts of the plugins' hooks around the system prompt that they are shown; the tools that they leave to the turn. */
async function promptHooks(
  { host, guard, sessionKey, sessionId, turnId, signal, tools }: PromptScope,
  payload: { prompt: string; system: string; messages: readonly AgentMessage[] },
): Promise<{ prepend: string[]; append: string[] }> {
  if (host.hooks.hooks("before_prompt_build").length === 0) return { prepend: [], append: [] };
  const { answers } = await runHooks(
    host.hooks,
    "before_prompt_build",
    { ...payload, messages: structuredClone(payload.messages) },
    { sessionKey, sessionId, agentId: host.agentId, turnId },
    { signal, logger: host.logger, onFailure: (reason) => guard.degrade("hook", reason) },
  );
  for (const { pluginId, result } of answers) {
    const { toolsAllow } = result;
    if (toolsAllow === undefined || toolsAllow === null) continue;
    // A list that cannot be read leaves no tool: it was meant to take some away.
    const isList = Array.isArray(toolsAllow);
    if (!isList) guard.degrade("hook", `toolsAllow of the plugin ${pluginId} is no list, so no tool is left`);
    tools.narrow?.(isList ? toolsAllow : []);
  }
  const textsOf = (field: "prependSystemContext" | "appendSystemContext"): string[] =>
    answers.flatMap(({ pluginId, result }) => {
      const text: unknown = result[field];
      if (text === undefined || text === null || text === "") return [];
      if (typeof text === "string") return [text];
      guard.degrade("hook", `${field} of the plugin ${pluginId} is no text, and was left out`);
      return [];
    });
  return { prepend: textsOf("prependSystemContext"), append: textsOf("appendSystemContext") };
}

interface Assembled {
  addition: string | undefined;
  sent: AgentMessage[];
  historyCount: number;
  result: AssembleResult | undefined;
  degraded: string | undefined;
}

/**
 * Pieces of the system prompt, in order; called inside `turn.context.assemble()` after the engine's call. Where the host builds the model
 * call: addition, hooks' text, base, hooks' text; hooks see the base. Where a harness owns its loop: hooks' text, addition, base, hooks'
 * text; hooks see base and addition joined, and the prompt as the harness will receive it.
 */
export async function finalSystem(
  scope: PromptScope,
  { addition, sent, historyCount, result, degraded }: Assembled,
  promptText: AssembleRequest["promptText"],
): Promise<SystemPiece[]> {
  const { system, prompt, guard, harness } = scope;
  const ownsLoop = harness.seam !== "embedded";
  const added = addition ? [{ source: "addition" as const, text: addition }] : [];
  const shown = ownsLoop ? [...added, ...system] : system;
  const words = (): string => {
    const projection = result?.contextProjection;
    try {
      const context = { messages: sent, historyCount, ...defined({ projection }) };
      return promptText?.({ ...context, ...defined({ degraded }) }) ?? prompt;
    } catch (error) {
      guard.degrade("projection", `the prompt could not be shown to hooks: ${toPagurusError(error).message}`);
      return prompt;
    }
  };
  const base = shown.map(({ text }) => text).join("\n\n");
  const { prepend, append } = await promptHooks(scope, { prompt: words(), system: base, messages: sent });
  const pieceOf = (text: string): SystemPiece => ({ source: "system", text });
  const before = prepend.map(pieceOf);
  const around = ownsLoop ? [...before, ...shown] : [...added, ...before, ...shown];
  return [...around, ...append.map(pieceOf)];
}

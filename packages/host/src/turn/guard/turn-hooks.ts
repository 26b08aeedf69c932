import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { HookContext, HookHandler, HookMap, HookName } from "@pagurus/contract/host/hooks";
import { HOOK_RULES } from "@pagurus/contract/host/hook-rules";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import { generatorProblem, pluginFailure } from "./plugin-failure.ts";

/** The handlers of each hook, in the order of registration. */
export interface HookSource {
  hooks<K extends HookName>(name: K): readonly { pluginId: string; handler: HookHandler<K> }[];
}

export interface HookOutcome<K extends HookName> {
  /** Results of the handlers, in their order, without empty ones. */
  answers: { pluginId: string; result: NonNullable<HookMap[K]["result"]> }[];
  /** Why the operation is blocked; set when a gate failed closed. */
  blocked?: string;
}

export interface HookOptions {
  /** Overrides the rule's deadline. */
  deadlineMs?: number | undefined;
  signal?: AbortSignal | undefined;
  logger: Logger;
  onFailure?: (reason: string) => void;
}

/** Runs the handlers of one hook in order, each within its deadline and under its failure rule (`HOOK_RULES`). Throws `turn_aborted` only. */
export async function runHooks<K extends HookName>(
  source: HookSource,
  name: K,
  payload: HookMap[K]["payload"],
  context: HookContext,
  options: HookOptions,
  more?: {
    /** The payload of the next handler, from this one's result; by default all see the same. */
    next?(payload: HookMap[K]["payload"], result: NonNullable<HookMap[K]["result"]>): HookMap[K]["payload"];
    /** True for a result after which no further handler is called. */
    until?(result: NonNullable<HookMap[K]["result"]>): boolean;
  },
): Promise<HookOutcome<K>> {
  const rule = HOOK_RULES[name];
  const answers: HookOutcome<K>["answers"] = [];
  let current = payload;
  for (const { pluginId, handler } of source.hooks(name)) {
    try {
      const label = `The hook ${name} of plugin ${pluginId}`;
      const result = await withDeadline(() => handler(current, context), {
        ms: options.deadlineMs ?? rule.deadlineMs,
        label,
        signal: options.signal,
      });
      const wrong = generatorProblem(result);
      if (wrong !== undefined)
        throw new PagurusError("engine_contract", `The answer cannot be used: ${wrong}.`);
      if (!result) continue;
      const answered = result as NonNullable<HookMap[K]["result"]>;
      answers.push({ pluginId, result: answered });
      if (more?.until?.(answered)) break;
      if (more?.next) current = more.next(current, answered);
    } catch (error) {
      if (options.signal?.aborted) throw toPagurusError(error, "turn_aborted");
      const reason = pluginFailure(error).message;
      options.logger.warn("hook failed", { hook: name, pluginId });
      options.onFailure?.(`hook ${name} of plugin ${pluginId}: ${reason}`);
      if (rule.onFailure === "block") {
        return {
          answers,
          blocked: `The hook ${name} of plugin ${pluginId} failed, and a gate fails closed.`,
        };
      }
    }
  }
  return { answers };
}

import { toPagurusError } from "../contract/errors.ts";
import {
  HOOK_RULES,
  type HookContext,
  type HookHandler,
  type HookMap,
  type HookName,
} from "../contract/hooks.ts";
import { withDeadline } from "../platform/deadline.ts";
import type { Logger } from "../platform/log.ts";

/** The handlers of each hook, in the order of registration. */
export interface HookSource {
  hooks<K extends HookName>(name: K): readonly { pluginId: string; handler: HookHandler<K> }[];
}

export interface HookOutcome<K extends HookName> {
  results: NonNullable<HookMap[K]["result"]>[];
  /** Set when a gate failed closed: why the operation is blocked. */
  blocked?: string;
}

/** Runs the handlers of one hook in order, each within its deadline and under its failure rule (`HOOK_RULES`). */
export async function runHooks<K extends HookName>(
  source: HookSource,
  name: K,
  payload: HookMap[K]["payload"],
  context: HookContext,
  options: { signal?: AbortSignal | undefined; logger: Logger; onFailure?: (reason: string) => void },
): Promise<HookOutcome<K>> {
  const rule = HOOK_RULES[name];
  const results: NonNullable<HookMap[K]["result"]>[] = [];
  for (const { pluginId, handler } of source.hooks(name)) {
    try {
      const label = `The hook ${name} of plugin ${pluginId}`;
      const result = await withDeadline(() => handler(payload, context), {
        ms: rule.deadlineMs,
        label,
        signal: options.signal,
      });
      if (result) results.push(result as NonNullable<HookMap[K]["result"]>);
    } catch (error) {
      const reason = toPagurusError(error).message;
      options.logger.warn("hook failed", { hook: name, pluginId });
      options.onFailure?.(`hook ${name} of plugin ${pluginId}: ${reason}`);
      if (rule.onFailure === "block") {
        return {
          results,
          blocked: `The hook ${name} of plugin ${pluginId} failed, and a gate fails closed.`,
        };
      }
    }
  }
  return { results };
}

/** Runs `message_sending` on an answer of a channel. */
import type { DeliveryHooks } from "@pagurus/contract/host/delivery";
import type { Logger } from "@pagurus/core/platform/log";
import { runHooks, type HookSource } from "./guard/turn-hooks.ts";

/** `host` is read at each use: plugins may be loaded again. */
export function deliveryHooks(host: () => { hooks: HookSource; logger: Logger }): DeliveryHooks {
  return {
    isDeliveryWatched: () => host().hooks.hooks("message_sending").length > 0,
    deliver: async (answer, of) => {
      const { hooks, logger } = host();
      const context = { ...of, sessionId: "" };
      const options = { logger };
      const { answers, blocked } = await runHooks(hooks, "message_sending", answer, context, options, {
        next: (seen, { content }) => (typeof content === "string" ? { ...seen, content } : seen),
        until: ({ cancel }) => cancel === true,
      });
      if (blocked !== undefined) return { cancelled: blocked };
      const cancelled = answers.find(({ result }) => result.cancel === true);
      if (cancelled) {
        const { pluginId, result } = cancelled;
        return {
          cancelled: `The plugin ${pluginId} cancelled it: ${result.cancelReason || "without a reason"}.`,
        };
      }
      const changed = answers.findLast(({ result }) => typeof result.content === "string");
      return { content: changed?.result.content ?? answer.content };
    },
  };
}

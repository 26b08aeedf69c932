/** Completion calls of engines and plugins; the code that calls a model is loaded at the first one. */
import type { PagurusConfig } from "../config/config-types.ts";
import type { LlmComplete } from "@pagurus/contract/model";
import type { Env } from "./credentials.ts";
import { resolveModel } from "./resolve.ts";
import { defined } from "../data/defined.ts";

/** Timeout of a call without a signal of its own, ms. */
const COMPLETE_TIMEOUT_MS = 180_000;

export interface CompleteOptions {
  config: PagurusConfig;
  env: Env;
  /** Of a call that names no model. */
  defaultRef: string;
  agentId: string;
}

export function completeFor({ config, env, defaultRef, agentId }: CompleteOptions): LlmComplete {
  return async (request) => {
    const resolved = resolveModel(request.model ?? defaultRef, config, env);
    const { completeOnce } = await import("./complete.ts");
    const completion = await completeOnce(resolved, {
      messages: request.messages,
      ...defined({
        systemPrompt: request.systemPrompt,
        maxTokens: request.maxTokens,
        thinking: request.reasoning,
      }),
      signal: request.signal ?? AbortSignal.timeout(COMPLETE_TIMEOUT_MS),
    });
    const { provider, id } = resolved.info;
    const { text, usage, stopReason } = completion;
    return { text, provider, model: id, agentId, stopReason, ...defined({ usage }) };
  };
}

import type { ModelInfo } from "../contract/model.ts";

/**
 * Whether a system-level message may stand inside the conversation. OpenAI's own protocols take one, as `developer` for
 * models that reason; Google refuses it, Anthropic takes it from some models only, and the chat templates of many
 * open models fail at it. Elsewhere what the developer says stands at its place as a user's message, in its wrapper.
 */
export function takesDeveloper({ api, provider }: Pick<ModelInfo, "api" | "provider">): boolean {
  return api === "openai-responses" || (api === "openai-completions" && provider === "openai");
}

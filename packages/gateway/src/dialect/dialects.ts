import { loadOnce } from "@pagurus/core/platform/load-once";
import type { Dialect, WireApi } from "./wire-dialect.ts";

const LOADERS: Readonly<Record<WireApi, () => Promise<Dialect>>> = {
  "openai-responses": loadOnce(
    async () => (await import("./responses/responses-dialect.ts")).responsesDialect,
  ),
  "anthropic-messages": loadOnce(
    async () => (await import("./messages/messages-dialect.ts")).messagesDialect,
  ),
  "openai-completions": loadOnce(
    async () => (await import("./completions/completions-dialect.ts")).completionsDialect,
  ),
  "google-generative-ai": loadOnce(
    async () => (await import("./generate-content/generate-content-dialect.ts")).generateContentDialect,
  ),
};

/** Loads the dialect of a protocol on demand. */
export function dialectOf(api: WireApi): Promise<Dialect> {
  return LOADERS[api]();
}

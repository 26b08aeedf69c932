import type { Dialect, WireApi } from "./dialect.ts";

const LOADERS: Readonly<Record<WireApi, () => Promise<Dialect>>> = {
  "openai-responses": async () => (await import("./responses/dialect.ts")).responsesDialect,
  "anthropic-messages": async () => (await import("./messages/dialect.ts")).messagesDialect,
  "openai-completions": async () => (await import("./completions/dialect.ts")).completionsDialect,
};

/** The dialect of a protocol, loaded when it is asked for. */
export function dialectOf(api: WireApi): Promise<Dialect> {
  return LOADERS[api]();
}

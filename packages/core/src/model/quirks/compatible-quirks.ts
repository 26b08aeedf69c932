/** Quirks of the servers that speak OpenAI's Chat Completions API. */
import type { Env } from "../credentials.ts";
import type { QuirkRow } from "./quirk-kinds.ts";
import { defined } from "../../data/defined.ts";

/**
 * Parses `OLLAMA_HOST` like Ollama's own client: scheme, host and port are each optional, and a server's bind address for all
 * interfaces means this machine.
 */
function ollamaAddress(env: Env): string | undefined {
  const host = env["OLLAMA_HOST"]?.trim();
  if (!host) return undefined;
  const withScheme = /^https?:\/\//i.test(host)
    ? host
    : `http://${host.startsWith(":") ? `127.0.0.1${host}` : host}`;
  if (!URL.canParse(withScheme)) return undefined;
  const url = new URL(withScheme);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  if (url.port === "" && !/^https?:\/\//i.test(host)) url.port = "11434";
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}/v1`;
}

export const COMPATIBLE_QUIRKS: readonly QuirkRow[] = [
  {
    name: "Chat Completions API",
    api: "openai-completions",
    quirks: {
      loadProtocol: async () => (await import("../protocols/completions.ts")).COMPLETIONS,
      members: ({ maxOutputTokens, thinking }) =>
        defined({ max_tokens: maxOutputTokens, reasoning_effort: thinking }),
      // The chat templates of many open models (Mistral, Gemma) refuse them, and a template error ends the turn.
      joinsUserMessages: true,
    },
  },
  {
    name: "Ollama",
    provider: "ollama",
    quirks: {
      addressOf: ollamaAddress,
      missingModelAdvice: (model) => `fetch it with \`ollama pull ${model}\``,
    },
  },
];

/**
 * The built-in models and providers. Prices are the providers' list prices of November 2026 in US dollars per million tokens,
 * without introductory rebates and without the surcharges of some models for long prompts; every value can be overridden in
 * `models.providers.<id>`.
 */
import type { ModelApi, ModelCost, ModelInfo } from "@pagurus/contract/model";
import { defined } from "../data/defined.ts";

export interface KnownProvider {
  api: Exclude<ModelApi, "offline">;
  baseUrl: string;
  /** Environment variables that may hold the key, in order. Empty: no key is needed. */
  keyEnv: readonly string[];
  /** Environment variable that replaces the base URL. */
  baseUrlEnv?: string;
  /** Defaults of this provider's models without an entry. */
  defaults: Partial<ModelDefaults>;
  /** The model that discovery proposes when only this provider's key is found. */
  defaultModel?: string;
  /** Discovery looks for its server on this machine. */
  probed?: true;
}

export type ModelDefaults = Omit<ModelInfo, "ref" | "provider" | "id" | "api">;

/** For an unknown model; conservative, so that its context is not exceeded. */
export const UNKNOWN_MODEL: ModelDefaults = {
  contextWindow: 128_000,
  maxTokens: 8_192,
  reasoning: false,
  input: ["text"],
  promptCache: "none",
  truncatesSilently: false,
};

export const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  anthropic: {
    api: "anthropic-messages",
    baseUrl: "https://api.anthropic.com/v1",
    keyEnv: ["ANTHROPIC_API_KEY"],
    baseUrlEnv: "ANTHROPIC_BASE_URL",
    defaults: { contextWindow: 200_000, maxTokens: 32_000, input: ["text", "image"], promptCache: "marks" },
    defaultModel: "claude-sonnet-5-5",
  },
  openai: {
    api: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    keyEnv: ["OPENAI_API_KEY"],
    baseUrlEnv: "OPENAI_BASE_URL",
    defaults: { input: ["text", "image"], promptCache: "automatic" },
    defaultModel: "gpt-5.6-terra",
  },
  google: {
    api: "google-generative-ai",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    defaults: { input: ["text", "image"], promptCache: "automatic" },
    defaultModel: "gemini-3.8-flash",
  },
  openrouter: {
    api: "openai-completions",
    baseUrl: "https://openrouter.ai/api/v1",
    keyEnv: ["OPENROUTER_API_KEY"],
    defaults: { promptCache: "automatic" },
    defaultModel: "openrouter/auto",
  },
  ollama: {
    api: "openai-completions",
    baseUrl: "http://127.0.0.1:11434/v1",
    keyEnv: [],
    defaults: { contextWindow: 32_768, maxTokens: 8_192, truncatesSilently: true },
    probed: true,
  },
  lmstudio: {
    api: "openai-completions",
    baseUrl: "http://127.0.0.1:1234/v1",
    keyEnv: [],
    defaults: { contextWindow: 32_768 },
    probed: true,
  },
  vllm: { api: "openai-completions", baseUrl: "http://127.0.0.1:8000/v1", keyEnv: [], defaults: {} },
  llamacpp: { api: "openai-completions", baseUrl: "http://127.0.0.1:8080/v1", keyEnv: [], defaults: {} },
};

type Row = readonly [
  id: string,
  contextWindow: number,
  maxTokens: number,
  reasoning: boolean,
  cost: ModelCost,
];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  anthropic: [
    ["claude-opus-5-5", 1_000_000, 128_000, true, price(4, 20, 0.2, 5)],
    ["claude-sonnet-5-5", 1_000_000, 128_000, true, price(2, 10, 0.1, 2.5)],
    ["claude-haiku-5-5", 1_000_000, 128_000, true, price(0.1, 0.5, 0.01, 0.125)],
    ["claude-opus-5", 1_000_000, 128_000, true, price(5, 25, 0.5, 6.25)],
    ["claude-sonnet-5", 1_000_000, 128_000, true, price(2, 10, 0.2, 2.5)],
    ["claude-opus-4-8", 1_000_000, 128_000, true, price(5, 25, 0.5, 6.25)],
    ["claude-opus-4-7", 1_000_000, 128_000, true, price(5, 25, 0.5, 6.25)],
    ["claude-sonnet-4-6", 1_000_000, 128_000, true, price(3, 15, 0.3, 3.75)],
    ["claude-haiku-4-5", 200_000, 64_000, true, price(1, 5, 0.1, 1.25)],
  ],
  openai: [
    ["gpt-5.6", 1_050_000, 128_000, true, price(5, 30, 0.5, 6.25)],
    ["gpt-5.6-sol", 1_050_000, 128_000, true, price(5, 30, 0.5, 6.25)],
    ["gpt-5.6-terra", 1_050_000, 128_000, true, price(2, 12, 0.2, 2.5)],
    ["gpt-5.6-luna", 1_050_000, 128_000, true, price(0.2, 1.2, 0.02, 0.25)],
    ["gpt-5.5", 1_050_000, 128_000, true, price(5, 30, 0.5)],
    ["gpt-5.4", 1_050_000, 128_000, true, price(2.5, 15, 0.25)],
    ["gpt-5.4-mini", 400_000, 128_000, true, price(0.75, 4.5, 0.075)],
    ["gpt-4.1", 1_047_576, 32_768, false, price(2, 8, 0.5)],
  ],
  google: [
    ["gemini-4-argon", 1_048_576, 65_536, true, price(4, 20, 0.2)],
    ["gemini-4-carbon", 1_048_576, 65_536, true, price(4, 20, 0.2)],
    ["gemini-3.8-flash", 1_048_576, 65_536, true, price(0.75, 3.75)],
    ["gemini-3.1-pro-preview", 1_048_576, 65_536, true, price(2, 12, 0.2)],
    ["gemini-2.5-pro", 1_048_576, 65_536, true, price(1.25, 10, 0.125)],
    ["gemini-2.5-flash", 1_048_576, 65_536, true, price(0.3, 2.5, 0.03)],
  ],
};

function price(input: number, output: number, cacheRead?: number, cacheWrite?: number): ModelCost {
  return { input, output, ...defined({ cacheRead, cacheWrite }) };
}

/** The catalog's entry, also for a dated id (`claude-haiku-4-5-20251001`, `gpt-5.5-2026-04-23`). */
export function catalogEntry(provider: string, id: string): Partial<ModelDefaults> | undefined {
  const undated = id.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, "");
  const row = ROWS[provider]?.find(([name]) => name === id || name === undated);
  if (!row) return undefined;
  const [, contextWindow, maxTokens, reasoning, cost] = row;
  return { contextWindow, maxTokens, reasoning, cost };
}

/** Ids of the catalog's models of a provider, in the catalog's order. */
export function catalogIds(provider: string): string[] {
  return (ROWS[provider] ?? []).map(([id]) => id);
}

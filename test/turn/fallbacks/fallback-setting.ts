/** Homes with a chain of models, `one/model`, `two/model` and so on, each at a scripted server of its own. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { startServer, type ModelServer, type ReplyScript } from "../../servers/server.ts";
import { makeSetting, modelConfig, type ModelOptions, type Setting } from "../setting.ts";

/** An answer for every request, or `down`: nothing listens. */
export type ChainScript = Record<string, ReplyScript | "down">;

export interface Chain {
  setting: Setting;
  /** Requests that each server has received. */
  counts(): Record<string, number>;
  server(name: string): ModelServer;
  close(): Promise<void>;
}

export interface ChainOptions {
  models?: Record<string, ModelOptions>;
  defaults?: Record<string, unknown>;
  /** `agents.list`. */
  list?: Record<string, unknown>[];
  more?: Record<string, unknown>;
  /** Default: all models of the script but the first. */
  fallbacks?: string[];
}

export async function startChain(script: ChainScript, options: ChainOptions = {}): Promise<Chain> {
  const names = Object.keys(script);
  const servers = new Map<string, ModelServer>();
  const providers: Record<string, unknown> = {};
  for (const name of names) {
    const steps = script[name] ?? "down";
    const server = await startServer({
      protocol: "anthropic-messages",
      script: steps === "down" ? [] : steps,
    });
    if (steps === "down") await server.close();
    else servers.set(name, server);
    const made = modelConfig("anthropic-messages", server.url, options.models?.[name]);
    providers[name] = (made["models"] as { providers: { test: unknown } }).providers.test;
  }
  const [first = "", ...others] = names.map((name) => `${name}/model`);
  const defaults = {
    model: { primary: first, fallbacks: options.fallbacks ?? others },
    retry: { maxElapsedSeconds: 1 },
    ...options.defaults,
  };
  const config = modelConfig(
    "anthropic-messages",
    "http://unused",
    {},
    { ...options.more, agents: { defaults } },
  );
  const agents = { ...(config["agents"] as object), ...(options.list ? { list: options.list } : {}) };
  const setting = makeSetting({ ...config, agents, models: { providers } });
  return {
    setting,
    counts: () =>
      Object.fromEntries(names.map((name) => [name, servers.get(name)?.requests.length ?? 0] as const)),
    server: (name) => {
      const server = servers.get(name);
      if (!server) throw new Error(`no server ${name}`);
      return server;
    },
    close: async () => {
      for (const server of servers.values()) await server.close();
      setting.remove();
    },
  };
}

export type FallbackEvent = Extract<TurnEvent, { type: "model.fallback" }>;

/** `one/model → two/model (rate_limit)`, and the models between them. */
export function takeovers(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type !== "model.fallback") return [];
    const skipped = (event.skipped ?? []).map(({ model, reason }) => `; ${model} ${reason}`).join("");
    return [`${event.from} → ${event.to} (${event.reason}${skipped})`];
  });
}

function cooldownFile({ setting }: Chain): string {
  return join(setting.home, "cooldowns", "models.json");
}

interface Cooldown {
  reason: string;
  failures: number;
  failedAt: number;
  until: number;
}

export function cooldowns(chain: Chain): Record<string, Cooldown> {
  return (JSON.parse(readFileSync(cooldownFile(chain), "utf8")) as { cooldowns: Record<string, Cooldown> })
    .cooldowns;
}

/** Lets all cooldowns end a second ago. */
export function endCooldowns(chain: Chain): void {
  const ended = Object.entries(cooldowns(chain)).map(([target, each]) => [
    target,
    { ...each, until: Date.now() - 1_000 },
  ]);
  const text = JSON.stringify({ version: 1, cooldowns: Object.fromEntries(ended) });
  writeFileSync(cooldownFile(chain), text);
}

/** Hosts whose turns run on an agent of ours, which records what it receives. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Stage, TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import type { ModelGateway } from "../../../packages/contract/src/harness/wire.ts";
import { createAcpHarness } from "../../../packages/runtimes/src/acp/acp-harness.ts";
import { COMPILE_CACHE } from "../../runner/compile-cache.ts";

export const AGENT = fileURLToPath(new URL("agent.child.ts", import.meta.url));
export const REF = "local/model";

type Noted = Record<string, unknown> & { texts?: string[] };

/** State of the running test. */
export const bench: { root: string; hosts: Pagurus[]; logFile: string } = {
  root: "",
  hosts: [],
  logFile: "",
};

export function setUp(): void {
  const root = mkdtempSync(join(tmpdir(), "pagurus-acp-"));
  Object.assign(bench, { root, hosts: [], logFile: join(root, "agent.log") });
}

/** Closes the hosts and fails if a process of an agent is left. */
export async function tearDown(): Promise<void> {
  const { hosts, root } = bench;
  for (const host of hosts) await host.close();
  for (const pid of started()) assert.ok(!isAlive(pid), "nothing of the agent is left");
  rmSync(root, { recursive: true, force: true });
}

interface Options {
  /** Id of the agent; that of a known one brings its facts. */
  id?: string;
  way?: string;
  slot?: string;
  engine?: ContextEngine;
  permission?: string;
  entry?: object;
  /** Added to the agent's environment. */
  env?: Record<string, string>;
  /** Replaces the host's gateway. */
  gateway?: ModelGateway;
  more?: Partial<PagurusOptions>;
}

export async function hostOf({
  id = "mine",
  way = "",
  slot = "legacy",
  engine,
  permission = "auto",
  entry,
  env: added,
  gateway,
  more,
}: Options = {}): Promise<Pagurus> {
  const mine = {
    command: process.execPath,
    args: [AGENT],
    env: { AGENT_WAY: way, AGENT_LOG: bench.logFile, ...COMPILE_CACHE, ...added },
    cwd: bench.root,
    startSeconds: 5,
    ...entry,
  };
  const env = { PATH: process.env["PATH"], HOME: bench.root, PAGURUS_NO_PROBE: "1" };
  const quiet = (): void => undefined;
  const harness =
    gateway &&
    createAcpHarness({
      agents: { [id]: mine },
      env,
      home: join(bench.root, "home"),
      trusts: () => false,
      endpoint: () => ({ baseUrl: "http://127.0.0.1:9/v1", headers: { authorization: "Bearer k" } }),
      gateway: () => Promise.resolve(gateway),
      log: { debug: quiet, warn: quiet },
    });
  const host = await createPagurus({
    home: join(bench.root, "home"),
    env,
    ...(harness ? { harnesses: [harness] } : {}),
    ...(engine ? { engines: { [engine.info.id]: () => engine } } : {}),
    config: {
      session: { scope: "main" },
      models: {
        providers: {
          local: {
            api: "openai-responses",
            baseUrl: "http://127.0.0.1:9/v1",
            apiKey: "k",
            models: [
              { id: "model", contextWindow: 100_000, cost: { input: 10, output: 10 } },
              { id: "cheap", contextWindow: 100_000, cost: { input: 2, output: 5 } },
            ],
          },
        },
      },
      agents: {
        defaults: {
          model: REF,
          permission: { mode: permission },
          models: { [REF]: { agentRuntime: { id: "acp", agentId: id } } },
        },
      },
      plugins: {
        slots: { contextEngine: engine?.info.id ?? slot },
        entries: { acp: gateway ? { enabled: false } : { config: { agents: { [id]: mine } } } },
      },
      logging: { level: "silent" },
    },
    ...more,
  });
  bench.hosts.push(host);
  return host;
}

export async function turn(
  host: Pagurus,
  prompt: string,
  more: Partial<RunRequest> = {},
  on: (event: TurnEvent, abort: () => void) => void = () => undefined,
): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  const run = host.run({ prompt, cwd: bench.root, ...more });
  for await (const event of run) {
    events.push(event);
    on(event, () => run.abort());
  }
  return events;
}

export function failure(events: readonly TurnEvent[]): { code: string; message: string } {
  const last = events.at(-1);
  assert.ok(last?.type === "turn.failed", JSON.stringify(last));
  return last.error;
}

export function answer(events: readonly TurnEvent[]): string {
  const last = events.at(-1);
  assert.ok(last?.type === "turn.completed", JSON.stringify(last));
  return words(events);
}

export function words(events: readonly TurnEvent[]): string {
  return events.map((event) => (event.type === "text.delta" ? event.delta : "")).join("");
}

/** Degradations of a stage of the turn. */
export function degraded(events: readonly TurnEvent[], stage: Stage): string[] {
  return events.flatMap((event) =>
    event.type === "context.degraded" && event.stage === stage ? [event.reason] : [],
  );
}

/** Models of the recorded answers. */
export function modelsOf(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "message" && event.message.role === "assistant"
      ? [`${event.message.provider}/${event.message.model}`]
      : [],
  );
}

export function noted(): Noted[] {
  if (!existsSync(bench.logFile)) return [];
  return readFileSync(bench.logFile, "utf8")
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Noted);
}

export function prompts(): string[][] {
  return noted().flatMap(({ prompt, texts }) => (prompt === undefined ? [] : [texts ?? []]));
}

export function started(): number[] {
  return noted().flatMap((each) => (typeof each["started"] === "number" ? [each["started"]] : []));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

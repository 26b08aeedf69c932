/** The setting of the Codex benchmark: an endpoint process, and homes whose turns Codex executes. */
import { fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { codexBinary } from "../../test/real/codex-binary.ts";

export interface ResponsesEndpoint {
  origin: string;
  /** Since the last call: requests, and the maximum that were open at once. */
  stats(): Promise<{ requests: number; most: number }>;
  close(): void;
}

export async function startResponsesEndpoint(): Promise<ResponsesEndpoint> {
  const child = fork(join(import.meta.dirname, "endpoint.ts"), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const origin = await new Promise<string>((resolve, reject) => {
    child.once("message", (message: { origin: string }) => resolve(message.origin));
    child.once("exit", () => reject(new Error("the endpoint of the benchmark ended")));
  });
  return {
    origin,
    stats: async () => (await (await fetch(`${origin}/stats`)).json()) as { requests: number; most: number },
    close: () => child.disconnect(),
  };
}

export interface CodexPlace {
  root: string;
  home: string;
  workspace: string;
  binary: string;
  env: Record<string, string>;
  remove(): void;
}

export function makeCodexPlace(): CodexPlace {
  const root = mkdtempSync(join(tmpdir(), "pagurus-bench-codex-"));
  const [home, workspace, codexHome] = ["home", "work", "codex"].map((name) => join(root, name));
  if (home === undefined || workspace === undefined || codexHome === undefined) throw new Error("no place");
  for (const folder of [home, workspace, codexHome]) mkdirSync(folder, { mode: 0o700 });
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, CODEX_HOME: codexHome, PAGURUS_NO_PROBE: "1" };
  const remove = (): void => rmSync(root, { recursive: true, force: true });
  return { root, home, workspace, binary: codexBinary(), env, remove };
}

/** For another driver in the same place: the same, except for Codex's own folder. */
export function bareEnv(place: CodexPlace, name: string): Record<string, string> {
  const codexHome = join(place.root, `codex-${name}`);
  mkdirSync(codexHome, { mode: 0o700, recursive: true });
  return { ...place.env, CODEX_HOME: codexHome };
}

export interface CodexHostOptions {
  /** With the protocol's path: `<origin>/v1`. */
  baseUrl: string;
  /** Default: `lossless`, with a budget for every history of the benchmark, so that no compaction is due. */
  engine?: ContextEngine;
  /** Default: the real program. */
  command?: string;
}

const NO_COMPACTION = { trigger: 400_000 };

export function codexHost(place: CodexPlace, options: CodexHostOptions): Promise<Pagurus> {
  const { baseUrl, engine, command = place.binary } = options;
  const model = { id: "model", contextWindow: 1_000_000, maxTokens: 4_000 };
  return createPagurus({
    home: place.home,
    env: place.env,
    ...(engine ? { engines: { [engine.info.id]: () => engine } } : {}),
    config: {
      session: { scope: "main" },
      models: { providers: { bench: { api: "openai-responses", baseUrl, apiKey: "none", models: [model] } } },
      agents: {
        defaults: {
          model: "bench/model",
          permission: { mode: "auto" },
          models: { "bench/model": { agentRuntime: { id: "codex" } } },
        },
      },
      plugins: {
        slots: { contextEngine: engine?.info.id ?? "lossless" },
        entries: { codex: { config: { command } }, lossless: { config: NO_COMPACTION } },
      },
    },
  });
}

export interface HostTurn {
  /** From `run()` until Codex gets the turn, ms. */
  askedMs: number;
  /** From `run()` to `turn.completed`, ms. */
  ms: number;
  /** To the end of the event stream: the host's work before the next turn may begin. */
  wholeMs: number;
}

/** Throws if the turn does not complete, or something degrades: then it is not the turn to measure. */
export async function hostTurn(
  pagurus: Pagurus,
  place: CodexPlace,
  sessionKey: string,
  prompt: string,
): Promise<HostTurn> {
  const start = performance.now();
  let [asked, ms]: (number | undefined)[] = [];
  for await (const event of pagurus.run({ prompt, sessionKey, cwd: place.workspace })) {
    if (event.type === "turn.failed") throw new Error(event.error.message);
    if (event.type === "model.request") asked ??= performance.now() - start;
    if (event.type !== "turn.completed") continue;
    ms = performance.now() - start;
    if (event.degraded.length > 0) throw new Error(JSON.stringify(event.degraded));
  }
  if (ms === undefined || asked === undefined) throw new Error("a turn of the host did not complete");
  return { askedMs: asked, ms, wholeMs: performance.now() - start };
}

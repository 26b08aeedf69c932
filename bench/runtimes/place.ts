/** A home whose turns one runtime executes, with its endpoints. */
import { fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { codexBinary } from "../../test/real/codex-binary.ts";
import { claudeBinary, realProgram } from "../../test/real/programs.ts";

/** Base URLs with the protocol's version path. */
export interface Endpoints {
  messages: string;
  responses: string;
  close(): void;
}

export async function startEndpoints(): Promise<Endpoints> {
  const child = fork(join(import.meta.dirname, "endpoint.ts"), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const urls = await new Promise<Omit<Endpoints, "close">>((resolve, reject) => {
    child.once("message", (message) => resolve(message as Omit<Endpoints, "close">));
    child.once("exit", () => reject(new Error("the endpoints of the benchmark ended")));
  });
  return { ...urls, close: () => child.disconnect() };
}

export type RuntimeName = "embedded" | "codex" | "claude-cli" | "acp";

interface Shell {
  model: string;
  /** The real program; absent where the loop is the host's own. */
  program?: () => string;
  /** `plugins.entries` that name the program. */
  entries(command: string): Record<string, unknown>;
}

export const SHELLS: Record<RuntimeName, Shell> = {
  embedded: { model: "messages/model", entries: () => ({}) },
  codex: {
    model: "responses/model",
    program: codexBinary,
    entries: (command) => ({ codex: { config: { command } } }),
  },
  "claude-cli": {
    model: "messages/model",
    program: claudeBinary,
    entries: (command) => ({ "claude-cli": { config: { command } } }),
  },
  acp: {
    model: "messages/claude-opus-5-5",
    program: () => realProgram("@agentclientprotocol/claude-agent-acp", "claude-agent-acp"),
    entries: (command) => ({ acp: { config: { agentId: "claude", agents: { claude: { command } } } } }),
  },
};

export interface Place {
  root: string;
  home: string;
  workspace: string;
  env: Record<string, string>;
  remove(): void;
}

export function makePlace(): Place {
  const root = mkdtempSync(join(tmpdir(), "pagurus-bench-runtimes-"));
  const [home, workspace, codex, claude] = ["home", "work", "codex", "claude"].map((name) =>
    join(root, name),
  );
  if (home === undefined || workspace === undefined || codex === undefined || claude === undefined)
    throw new Error("no place");
  for (const folder of [home, workspace, codex, claude]) mkdirSync(folder, { mode: 0o700 });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    CODEX_HOME: codex,
    CLAUDE_CONFIG_DIR: claude,
    // Claude Code requires it when it runs as root.
    IS_SANDBOX: "1",
    PAGURUS_NO_PROBE: "1",
  };
  const remove = (): void => rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  return { root, home, workspace, env, remove };
}

const LIMITS = { contextWindow: 200_000, maxTokens: 4_000 };

/** With the lossless engine. `command`: the program that the runtime drives; default the real one. */
export function openHost(
  place: Place,
  runtime: RuntimeName,
  endpoints: Endpoints,
  command?: string,
): Promise<Pagurus> {
  const { model, program, entries } = SHELLS[runtime];
  const provider = (api: string, baseUrl: string, ids: string[]): object => ({
    api,
    baseUrl,
    apiKey: "none",
    models: ids.map((id) => ({ id, ...LIMITS })),
  });
  return createPagurus({
    home: place.home,
    env: place.env,
    config: {
      session: { scope: "main" },
      models: {
        providers: {
          messages: provider("anthropic-messages", endpoints.messages, ["model", "claude-opus-5-5"]),
          responses: provider("openai-responses", endpoints.responses, ["model"]),
        },
      },
      agents: {
        defaults: {
          model,
          permission: { mode: "auto" },
          models: { [model]: { agentRuntime: { id: runtime } } },
        },
      },
      plugins: {
        slots: { contextEngine: "lossless" },
        entries: program ? entries(command ?? program()) : {},
      },
    },
  });
}

export const PROMPT = "How is the tide?";

/** From `run()` to `turn.completed`, ms. Throws where the turn does not complete, or something degrades. */
export async function hostTurn(pagurus: Pagurus, place: Place): Promise<number> {
  const start = performance.now();
  let ms: number | undefined;
  for await (const event of pagurus.run({ prompt: PROMPT, cwd: place.workspace })) {
    if (event.type === "turn.failed") throw new Error(event.error.message);
    if (event.type !== "turn.completed") continue;
    ms = performance.now() - start;
    if (event.degraded.length > 0) throw new Error(JSON.stringify(event.degraded));
  }
  if (ms === undefined) throw new Error("a turn of the host did not complete");
  return ms;
}

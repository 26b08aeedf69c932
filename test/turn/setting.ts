/** A home, a workspace and a `pagurus` process for tests at the command line and the model's endpoint. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { COMPILE_CACHE } from "../runner/compile-cache.ts";
import { LAUNCHER } from "../runner/program.ts";
import { FULL } from "../runner/short-form.ts";
import { ON_POSTGRES } from "../servers/on-postgres/tables.ts";
import type { Protocol } from "../servers/server.ts";
import { AS_PROGRAM, runInside } from "./inside.ts";
import { spawnWith } from "../runner/child-input.ts";

export interface Setting {
  root: string;
  home: string;
  workspace: string;
  env: Record<string, string>;
  remove(): void;
}

/** `above`: folder for it; default the job's own, which only the user of the tests may enter. */
export function makeSetting(config?: unknown, above = tmpdir()): Setting {
  const root = mkdtempSync(join(above, "pagurus-test-"));
  const home = join(root, "home");
  // The key of its conversation is "main".
  const workspace = join(root, "main");
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(workspace);
  if (config !== undefined)
    writeFileSync(join(home, "pagurus.json"), JSON.stringify(config, null, 2), { mode: 0o600 });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    PAGURUS_HOME: home,
    PAGURUS_NO_PROBE: "1",
    NO_COLOR: "1",
    LANG: "C.UTF-8",
    ...COMPILE_CACHE,
    ...ON_POSTGRES,
  };
  return { root, home, workspace, env, remove: () => rmSync(root, { recursive: true, force: true }) };
}

export interface ModelOptions {
  contextWindow?: number;
  maxTokens?: number;
  input?: ("text" | "image")[];
  reasoning?: boolean;
  truncatesSilently?: boolean;
  cost?: { input: number; output: number };
}

/** The sandbox has tests of its own; in the short form these do without its start for each host and command. */
const PERMISSION = { mode: "auto", ...(FULL ? {} : { sandbox: "off" }) };

/** A configuration whose only model is `test/model` at a local server; its engine is `legacy` unless `more` names one. */
export function modelConfig(
  protocol: Protocol,
  url: string,
  model: ModelOptions = {},
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  const api = protocol === "google" ? "google-generative-ai" : protocol;
  const { agents, plugins, ...rest } = more as {
    agents?: { defaults?: Record<string, unknown>; list?: { id: string }[] };
    plugins?: { slots?: Record<string, unknown> };
  };
  return {
    session: { scope: "main" },
    models: {
      providers: {
        test: {
          api,
          baseUrl: url,
          apiKey: "test-key-0123456789",
          models: [{ id: "model", contextWindow: 100_000, maxTokens: 4_000, ...model }],
        },
      },
    },
    agents: { ...agents, defaults: { model: "test/model", permission: PERMISSION, ...agents?.defaults } },
    plugins: { ...plugins, slots: { contextEngine: "legacy", ...plugins?.slots } },
    ...rest,
  };
}

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  events: TurnEvent[];
  last: TurnEvent | undefined;
  stdout: string;
  stderr: string;
}

export interface Running {
  child: ChildProcess;
  /** Resolves when an event of this type has been printed. */
  seen(type: TurnEvent["type"]): Promise<TurnEvent>;
  finished: Promise<Finished>;
}

/** Starts `pagurus <args>` on the Node that runs the tests. */
export function start(setting: Setting, args: readonly string[], input?: string, shell?: string): Running {
  const command = [process.execPath, LAUNCHER, ...args];
  // With `shell` the process starts under limits that a shell sets.
  const [program = "", ...rest] =
    shell === undefined ? command : ["sh", "-c", `${shell}; exec "$0" "$@"`, ...command];
  const child = spawnWith(input, program, rest, { cwd: setting.workspace, env: setting.env });
  let stdout = "";
  let stderr = "";
  const waiting: { type: string; resolve: (event: TurnEvent) => void }[] = [];
  const events: TurnEvent[] = [];
  let open = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    open += chunk;
    const lines = open.split("\n");
    open = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith('{"type"')) continue;
      const event = JSON.parse(line) as TurnEvent;
      events.push(event);
      for (const wait of waiting) if (wait.type === event.type) wait.resolve(event);
    }
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const finished = new Promise<Finished>((done) => {
    child.on("close", (code, signal) => done({ code, signal, events, last: events.at(-1), stdout, stderr }));
  });
  const seen = (type: TurnEvent["type"]): Promise<TurnEvent> => {
    const already = events.find((event) => event.type === type);
    if (already) return Promise.resolve(already);
    return new Promise((resolve, reject) => {
      waiting.push({ type, resolve });
      void finished.then(() => reject(new Error(`the process ended without ${type}: ${stdout} ${stderr}`)));
    });
  };
  return { child, seen, finished };
}

/** `pagurus <args>` to its end, in the test's own process. */
export async function finish(setting: Setting, args: readonly string[], input = ""): Promise<Finished> {
  if (AS_PROGRAM) return await start(setting, args, input).finished;
  const ended = await runInside(args, { cwd: setting.workspace, env: setting.env, input });
  const events = ended.stdout
    .split("\n")
    .filter((line) => line.startsWith('{"type"'))
    .map((line) => JSON.parse(line) as TurnEvent);
  return { ...ended, signal: null, events, last: events.at(-1) };
}

/** `pagurus run --json`, to its end. */
export function run(setting: Setting, prompt: string, ...args: string[]): Promise<Finished> {
  return finish(setting, ["run", "--json", ...args, prompt]);
}

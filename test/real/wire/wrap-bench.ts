/**
 * The user's own Codex and Claude Code under `pagurus wire`, against scripted servers; in folders of the bench, separate
 * from the user's.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { WireOptions } from "../../../packages/cli/src/wire/wire-work.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { Receipt } from "../../../packages/contract/src/session/receipt.ts";
import { startServer, type ModelServer, type Protocol, type ReplyScript } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary } from "../programs.ts";
import { MAIN } from "../../runner/program.ts";

/** `pagurus wire` with these options, after the program that runs it. */
export function commandLine(options: WireOptions, words: readonly string[]): string[] {
  const { session, model, observe, login, capture, api, continue: continues } = options;
  return [
    MAIN,
    "wire",
    ...(session === undefined ? [] : ["--session", session]),
    ...(continues === true ? ["--continue"] : []),
    ...(typeof continues === "string" ? ["--continue", continues] : []),
    ...(model === undefined ? [] : ["--model", model]),
    ...(observe === true ? ["--observe"] : []),
    ...(api === undefined ? [] : ["--api", api]),
    ...(login === true ? ["--login"] : []),
    ...(capture === true ? ["--capture"] : []),
    "--",
    ...words,
  ];
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

export class WrapRun {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-wrapped-"));
  readonly server: ModelServer;

  constructor(server: ModelServer) {
    this.server = server;
    for (const name of ["work", "codex", "claude"]) mkdirSync(join(this.root, name));
  }

  static async with(protocol: Protocol, script: ReplyScript): Promise<WrapRun> {
    return new WrapRun(await startServer({ protocol, script }));
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  get home(): string {
    return join(this.root, "home");
  }

  /** No keys but those that a test adds. */
  env(more: Record<string, string> = {}): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      HOME: this.root,
      PAGURUS_HOME: this.home,
      PAGURUS_NO_PROBE: "1",
      CODEX_HOME: join(this.root, "codex"),
      CLAUDE_CONFIG_DIR: join(this.root, "claude"),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      ...more,
    };
  }

  /** Configures Codex for the server, as a provider of the user's own. */
  setCodex(more = ""): void {
    writeFileSync(
      join(this.root, "codex", "config.toml"),
      [
        'model = "test-model"',
        'model_provider = "mock"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "check_for_update_on_startup = false",
        more,
        "[model_providers.mock]",
        'name = "mock"',
        `base_url = "${this.server.url}"`,
        'env_key = "MOCK_KEY"',
        'wire_api = "responses"',
        "request_max_retries = 1",
        "stream_max_retries = 1",
        'http_headers = { "x-team" = "blue" }',
        "[features]",
        "plugins = false",
        "apps = false",
        "[analytics]",
        "enabled = false",
        "",
      ].join("\n"),
    );
  }

  codex(options: WireOptions, ...args: string[]): Promise<Ended> {
    return this.run(options, { MOCK_KEY: "key-of-mock" }, codexBinary(), ...args);
  }

  claude(options: WireOptions, ...args: string[]): Promise<Ended> {
    const env = {
      ANTHROPIC_BASE_URL: this.server.url.replace(/\/v1$/, ""),
      ANTHROPIC_API_KEY: "key-of-test",
    };
    return this.run(options, env, claudeBinary(), ...args);
  }

  run(options: WireOptions, env: Record<string, string>, ...words: string[]): Promise<Ended> {
    return this.start(options, env, ...words).ended;
  }

  start(
    options: WireOptions,
    env: Record<string, string>,
    ...words: string[]
  ): { child: ChildProcess; ended: Promise<Ended> } {
    const child = spawn(process.execPath, commandLine(options, words), {
      cwd: this.cwd,
      env: this.env(env),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => void (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => void (stderr += chunk.toString()));
    const ended = new Promise<Ended>((resolve) => {
      child.on("close", (code, signal) => resolve({ code: code ?? (signal ? -1 : 0), stdout, stderr }));
    });
    return { child, ended };
  }

  /** A host of the same home, to read what the wrapped program's host has written. */
  async look<T>(work: (pagurus: Pagurus) => T | Promise<T>): Promise<T> {
    const pagurus = await createPagurus({ home: this.home, env: this.env() });
    try {
      return await work(pagurus);
    } finally {
      await pagurus.close();
    }
  }

  transcript(sessionKey: string): Promise<AgentMessage[]> {
    return this.look((pagurus) => {
      const reader = pagurus.sessions().openReader(sessionKey);
      try {
        return reader.contextMessages().messages;
      } finally {
        reader.close();
      }
    });
  }

  receipts(sessionKey: string): Promise<Receipt[]> {
    return this.look((pagurus) => pagurus.context.receipts({ sessionKey }));
  }

  async end(): Promise<void> {
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

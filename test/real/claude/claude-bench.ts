/** A host whose turns the real Claude Code executes, against a local endpoint that speaks the Messages API. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import {
  startServer,
  type ModelServer,
  type RecordedRequest,
  type ReplyScript,
} from "../../servers/server.ts";
import { claudeBinary } from "../programs.ts";

export interface ClaudeHostOptions {
  /** Default: `lossless`. */
  slot?: string;
  engine?: ContextEngine;
  modelId?: string;
  contextWindow?: number;
  runtime?: string;
  maxSteps?: number;
  /** The program to run; default: the real Claude Code. */
  command?: string;
  permission?: "ask" | "deny" | "auto" | "read-only";
  /** How the engine's context reaches Claude Code; default: its session file. */
  context?: "wire";
  /** The model gateway captures each request, byte for byte. */
  capture?: boolean;
  /** Entries of `plugins.entries` in addition to Claude Code's. */
  plugins?: Record<string, unknown>;
  more?: Partial<PagurusOptions>;
}

/** A block of a request's messages, as one line. */
export type Line = string;

export class ClaudeBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-claude-"));
  readonly server: ModelServer;
  readonly #hosts: Pagurus[] = [];

  constructor(server: ModelServer) {
    this.server = server;
    for (const name of ["work", "user"]) mkdirSync(join(this.root, name));
  }

  static async with(script: ReplyScript): Promise<ClaudeBench> {
    return new ClaudeBench(await startServer({ protocol: "anthropic-messages", script }));
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  /** The environment of the host and of Claude Code: folders of the bench, no keys. */
  get env(): Record<string, string | undefined> {
    return { PATH: process.env["PATH"], HOME: join(this.root, "user"), PAGURUS_NO_PROBE: "1" };
  }

  async host(options: ClaudeHostOptions = {}): Promise<Pagurus> {
    const { engine, more } = options;
    const made = await createPagurus({
      home: join(this.root, "home"),
      env: this.env,
      ...(engine ? { engines: { [engine.info.id]: () => engine } } : {}),
      config: this.config(options),
      ...more,
    });
    this.#hosts.push(made);
    return made;
  }

  /** The content of `pagurus.json` for a host of these options. */
  config(options: ClaudeHostOptions = {}): object {
    const { slot = "lossless", engine, modelId = "unknown-model", contextWindow = 200_000 } = options;
    const { runtime = "claude-cli", command = claudeBinary(), permission = "auto", context } = options;
    return {
      session: { scope: "main" },
      models: {
        providers: {
          local: {
            api: "anthropic-messages",
            baseUrl: this.server.url,
            apiKey: "test-key",
            models: [{ id: modelId, contextWindow, maxTokens: 4_000 }],
          },
        },
      },
      agents: {
        defaults: {
          model: `local/${modelId}`,
          permission: { mode: permission },
          ...(options.maxSteps === undefined ? {} : { maxSteps: options.maxSteps }),
          models: { [`local/${modelId}`]: { agentRuntime: { id: runtime } } },
        },
      },
      plugins: {
        slots: { contextEngine: engine?.info.id ?? slot },
        entries: {
          ...options.plugins,
          "claude-cli": { config: { command, ...(context === undefined ? {} : { context }) } },
        },
      },
      ...(options.capture === true ? { gateway: { capture: { maxBytes: 4 * 1024 ** 3 } } } : {}),
      logging: { level: "debug" },
    };
  }

  /** All events of a turn, however it ends. */
  async turn(pagurus: Pagurus, prompt: string, more: Partial<RunRequest> = {}): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const event of pagurus.run({ prompt, cwd: this.cwd, ...more })) events.push(event);
    return events;
  }

  /** A turn that has to complete; all its events. */
  async ask(pagurus: Pagurus, prompt: string, more: Partial<RunRequest> = {}): Promise<TurnEvent[]> {
    const events = await this.turn(pagurus, prompt, more);
    const last = events.at(-1);
    assert.equal(last?.type, "turn.completed", JSON.stringify(last));
    return events;
  }

  request(index: number): RecordedRequest {
    const request = this.server.requests.at(index);
    assert.ok(request, `request ${index}`);
    return request;
  }

  /** Processes of Claude Code below the bench's folders, with their children (Linux). */
  processes(): number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid && mentions(pid, join(this.root, "home")));
  }

  /** Process ids of Claude Code itself. */
  programs(): number[] {
    return this.processes().filter((pid) => /^(?!\/bin\/sh ).* --output-format /.test(commandOf(pid)));
  }

  async nothingLeft(): Promise<void> {
    for (let look = 0; this.processes().length > 0; look += 1) {
      assert.ok(look < 200, `left behind: ${this.processes().map(commandOf).join("; ")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async end(): Promise<void> {
    for (const host of this.#hosts) await host.close();
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

function mentions(pid: number, folder: string): boolean {
  try {
    const state = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
    return (
      state !== "Z" && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`CLAUDE_CONFIG_DIR=${folder}`)
    );
  } catch {
    return false;
  }
}

type Item = Record<string, unknown>;

function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return (value as Item[]).map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function lineOf(role: string, block: Item): Line {
  if (block["type"] === "tool_use") return `call ${String(block["name"])} ${String(block["id"])}`;
  if (block["type"] === "tool_result")
    return `result ${String(block["tool_use_id"])} ${words(block["content"])}`;
  if (block["type"] === "text") return `${role}: ${String(block["text"])}`;
  return `${role} ${String(block["type"])}`;
}

/** The whole conversation of a request, one line for each block. */
export function conversation({ body }: RecordedRequest): Line[] {
  return (body["messages"] as Item[]).flatMap(({ role, content }) =>
    typeof content === "string"
      ? [`${String(role)}: ${content}`]
      : (content as Item[]).map((block) => lineOf(String(role), block)),
  );
}

/** The system prompt's blocks without those in which Claude Code names itself. */
export function systemOf({ body }: RecordedRequest): string[] {
  return (body["system"] as Item[])
    .map(({ text }) => String(text))
    .filter((said) => !/^x-anthropic-billing-header|^You are a Claude agent, built on/.test(said));
}

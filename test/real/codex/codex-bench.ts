/** A host whose turns the real Codex executes, against a local endpoint that speaks the Responses API. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
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
import { codexBinary } from "../codex-binary.ts";

export interface CodexHostOptions {
  /** Default: `lossless`. */
  slot?: string;
  engine?: ContextEngine;
  modelId?: string;
  contextWindow?: number;
  runtime?: string;
  maxSteps?: number;
  /** The program to run; default: the real Codex. */
  command?: string;
  /** How the engine's context reaches Codex; default: as the engine names epochs. */
  seam?: "thread" | "projection" | "wire";
  /** The model gateway captures each request, byte for byte. */
  capture?: boolean;
  /** Entries of `plugins.entries` in addition to Codex's. */
  plugins?: Record<string, unknown>;
  more?: Partial<PagurusOptions>;
}

/** An item of a request's `input` that is no instruction of Codex, as one line. */
export type Line = string;

const OWN = /^<(?:environment_context|skills_instructions|permissions|collaboration_mode|multi_agent)/;

export class CodexBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-codex-"));
  readonly server: ModelServer;
  readonly #hosts: Pagurus[] = [];

  constructor(server: ModelServer) {
    this.server = server;
    mkdirSync(join(this.root, "work"));
    mkdirSync(join(this.root, "codex"));
  }

  static async with(script: ReplyScript): Promise<CodexBench> {
    return new CodexBench(await startServer({ protocol: "openai-responses", script }));
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  /** The environment of the host and of Codex: folders of the bench, no keys. */
  get env(): Record<string, string | undefined> {
    return {
      PATH: process.env["PATH"],
      HOME: this.root,
      CODEX_HOME: join(this.root, "codex"),
      PAGURUS_NO_PROBE: "1",
    };
  }

  async host(options: CodexHostOptions = {}): Promise<Pagurus> {
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
  config(options: CodexHostOptions = {}): object {
    const { slot = "lossless", engine, modelId = "unknown-model", contextWindow = 200_000 } = options;
    const { runtime = "codex", command = codexBinary() } = options;
    return {
      session: { scope: "main" },
      models: {
        providers: {
          local: {
            api: "openai-responses",
            baseUrl: this.server.url,
            apiKey: "test-key",
            models: [{ id: modelId, contextWindow, maxTokens: 4_000 }],
          },
        },
      },
      agents: {
        defaults: {
          model: `local/${modelId}`,
          permission: { mode: "auto" },
          ...(options.maxSteps === undefined ? {} : { maxSteps: options.maxSteps }),
          models: { [`local/${modelId}`]: { agentRuntime: { id: runtime } } },
        },
      },
      plugins: {
        slots: { contextEngine: engine?.info.id ?? slot },
        entries: {
          ...options.plugins,
          codex: { config: { command, sandbox: "danger-full-access", context: options.seam } },
        },
      },
      ...(options.capture === true ? { gateway: { capture: { maxBytes: 4 * 1024 ** 3 } } } : {}),
      logging: { level: "debug" },
    };
  }

  /** A turn that has to complete; all its events. */
  async ask(pagurus: Pagurus, prompt: string, more: Partial<RunRequest> = {}): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const event of pagurus.run({ prompt, cwd: this.cwd, ...more })) events.push(event);
    const last = events.at(-1);
    assert.equal(last?.type, "turn.completed", JSON.stringify(last));
    return events;
  }

  request(index: number): RecordedRequest {
    const request = this.server.requests.at(index);
    assert.ok(request, `request ${index}`);
    return request;
  }

  async end(): Promise<void> {
    for (const host of this.#hosts) await host.close();
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

type Item = Record<string, unknown>;

function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return (value as Item[]).map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** The conversation of a request, one line for each item; Codex's own instructions and environment left out. */
export function conversation(request: RecordedRequest): Line[] {
  const input = request.body["input"] as Item[];
  return input.flatMap((item): Line[] => {
    const { type, role } = item;
    if (type === "function_call") return [`call ${String(item["name"])} ${String(item["call_id"])}`];
    if (type === "function_call_output")
      return [`result ${String(item["call_id"])} ${words(item["output"])}`];
    if (type !== "message" || role === "developer") return [];
    const text = words(item["content"]);
    return OWN.test(text) ? [] : [`${String(role)}: ${text}`];
  });
}

/** Developer messages in their order. */
export function developerTexts(request: RecordedRequest): string[] {
  const input = request.body["input"] as Item[];
  return input
    .filter(({ type, role }) => type === "message" && role === "developer")
    .map(({ content }) => words(content));
}

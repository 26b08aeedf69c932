/** A host in this process with a scripted model, for tests of engines, hooks and requests. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../packages/contract/src/host/host.ts";
import type { RunRequest, TurnRun } from "../../packages/contract/src/host/run.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { startServer, type ModelServer, type ReplyScript } from "../servers/server.ts";
import { recordEngine, recordPlugin } from "../testkit/recorder.ts";
import { modelConfig, type ModelOptions } from "./setting.ts";
import { readBody, type WireBody } from "./wire-bodies.ts";

export interface HostOptions {
  /** Log level; default `silent`. */
  level?: string;
  engine?: ContextEngine;
  plugin?: (api: PluginApi) => void;
  model?: ModelOptions;
  defaults?: Record<string, unknown>;
  more?: Partial<PagurusOptions>;
}

export class Bench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-in-process-"));
  readonly server: ModelServer;
  readonly #hosts: Pagurus[] = [];

  constructor(server: ModelServer) {
    this.server = server;
  }

  static async with(script: ReplyScript): Promise<Bench> {
    return new Bench(await startServer({ protocol: "openai-completions", script }));
  }

  async host(options: HostOptions = {}): Promise<Pagurus> {
    const { engine, plugin, model, defaults, more, level = "silent" } = options;
    const made = await createPagurus({
      home: join(this.root, "home"),
      env: { PATH: process.env["PATH"], HOME: this.root, PAGURUS_NO_PROBE: "1" },
      ...(engine ? { engines: { [engine.info.id]: (context) => recordEngine(engine, context) } } : {}),
      ...(plugin ? { plugins: { hooks: recordPlugin(plugin) } } : {}),
      config: modelConfig("openai-completions", this.server.url, model, {
        agents: { defaults: defaults ?? {} },
        logging: { level },
        ...(engine ? { plugins: { slots: { contextEngine: engine.info.id } } } : {}),
      }),
      ...more,
    });
    this.#hosts.push(made);
    return made;
  }

  /** Runs a turn that has to complete; returns all its events. */
  async ask(pagurus: Pagurus, prompt: string, more: Partial<RunRequest> = {}): Promise<TurnEvent[]> {
    const events = await eventsOf(pagurus.run({ prompt, cwd: this.root, ...more }));
    assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
    return events;
  }

  /** The request of this number, as it reached the endpoint. */
  body(index: number): WireBody {
    const request = this.server.requests.at(index);
    assert.ok(request, `request ${index}`);
    return readBody("openai-completions", request);
  }

  async end(): Promise<void> {
    for (const host of this.#hosts) await host.close();
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export async function eventsOf(run: TurnRun): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** The text of a message. */
export function words(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("");
}

/** A host over a scripted endpoint with an engine, a memory or a plugin under test, for tests of each contract member. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ContextEngine, ContextEngineInfo } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { startServer, type Protocol, type ReplyScript, type ReplyStep } from "../../servers/server.ts";
import { Bench } from "../in-process.ts";
import { modelConfig, type ModelOptions } from "../setting.ts";
import { readBody, type WireBody } from "../wire-bodies.ts";

type Member = Exclude<keyof ContextEngine, "info" | "dispose">;
type ParamsOf<M extends Member> = Parameters<NonNullable<ContextEngine[M]>>[0];

/** An engine's calls, in order. */
export class Calls {
  readonly #list: { member: string; params: unknown }[] = [];

  note(member: string, params: unknown): void {
    this.#list.push({ member, params });
  }

  get names(): string[] {
    return this.#list.map(({ member }) => member);
  }

  of<M extends Member>(member: M): ParamsOf<M>[] {
    return this.#list.filter((call) => call.member === member).map(({ params }) => params as ParamsOf<M>);
  }

  last<M extends Member>(member: M): ParamsOf<M> {
    const found = this.of(member).at(-1);
    assert.ok(found, `${member} was called`);
    return found;
  }

  /** Every call with its member, also of those that share their parameters' shape. */
  all(): readonly { member: string; params: unknown }[] {
    return this.#list;
  }
}

/** A pass-through engine of the required members and the passed ones, with each call recorded. */
export function engineOf(
  calls: Calls,
  members: Partial<Omit<ContextEngine, "info">> = {},
  info: Partial<ContextEngineInfo> = {},
): ContextEngine {
  const legacy = createLegacyEngine();
  const all: Omit<ContextEngine, "info"> = {
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
    compact: (params) => legacy.compact(params),
    ...members,
  };
  const noted = Object.entries(all).map(([name, member]) => [
    name,
    (params: unknown): unknown => {
      calls.note(name, params);
      return (member as (params: unknown) => unknown)(params);
    },
  ]);
  return {
    ...(Object.fromEntries(noted) as Omit<ContextEngine, "info">),
    info: { id: "mine", name: "Mine", ...info },
  };
}

export interface HostSetup {
  engine?: ContextEngine;
  plugin?: (api: PluginApi) => void;
  /** `plugins.slots.memory`. */
  memory?: string;
  citations?: string;
  model?: ModelOptions;
  defaults?: Record<string, unknown>;
  more?: Partial<PagurusOptions>;
}

export class MembersBench extends Bench {
  readonly #protocol: Protocol;

  constructor(server: Bench["server"], protocol: Protocol) {
    super(server);
    this.#protocol = protocol;
  }

  static async open(script: ReplyScript = answered, protocol: Protocol = "openai-completions") {
    return new MembersBench(await startServer({ protocol, script }), protocol);
  }

  config({ engine, memory, citations, model, defaults }: HostSetup): Record<string, unknown> {
    const slots = {
      ...(engine ? { contextEngine: engine.info.id } : {}),
      ...(memory === undefined ? {} : { memory }),
    };
    return modelConfig(this.#protocol, this.server.url, model, {
      agents: { defaults: defaults ?? {} },
      logging: { level: "debug" },
      plugins: { slots },
      ...(citations === undefined ? {} : { memory: { citations } }),
    });
  }

  /** As `host`, with defaults for what it does not configure. */
  start(setup: HostSetup = {}): Promise<Pagurus> {
    const { engine, plugin, more } = setup;
    return this.host({
      ...(engine ? { engine } : {}),
      ...(plugin ? { plugin } : {}),
      more: { config: this.config(setup), ...more },
    });
  }

  override body(index: number): WireBody {
    const request = this.server.requests.at(index);
    assert.ok(request, `request ${index}`);
    return readBody(this.#protocol, request);
  }

  /** Entries of the transcript, read from its file. */
  entries(pagurus: Pagurus, sessionKey = "main"): TranscriptEntry[] {
    const record = pagurus.sessions().find(sessionKey);
    assert.ok(record, `the session ${sessionKey}`);
    const lines = readFileSync(record.file, "utf8").split("\n").slice(1, -1);
    return lines.map((line) => JSON.parse(line) as TranscriptEntry);
  }

  /** Lines of the log with this message. */
  logged(message: string): Record<string, unknown>[] {
    const folder = join(this.root, "home", "logs");
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === message);
  }
}

export function answered(_request: unknown, index: number): ReplyStep {
  return { text: `Reply ${index}.` };
}

/** A call of a tool as a model makes it. */
export function calls(name: string, args: Record<string, unknown>, id = "call-1"): ReplyStep {
  return { toolCalls: [{ id, name, arguments: args }] };
}

/** All texts of a request, including tool results. */
export function requestText(body: WireBody): string {
  return body.messages
    .map(({ text, results }) => text + results.map((result) => result.text).join("\n"))
    .join("\n");
}

export function ofType<K extends TurnEvent["type"]>(
  events: readonly TurnEvent[],
  type: K,
): Extract<TurnEvent, { type: K }>[] {
  return events.filter((event): event is Extract<TurnEvent, { type: K }> => event.type === type);
}

/** The error that a turn ended with. */
export function failure(events: readonly TurnEvent[]): { code: string; message: string } {
  const last = events.at(-1);
  assert.ok(last?.type === "turn.failed", JSON.stringify(last));
  return last.error;
}

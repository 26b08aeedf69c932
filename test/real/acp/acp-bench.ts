/** A host whose turns real ACP agents execute, against a local endpoint that speaks their provider's protocol. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { RunRequest } from "../../../packages/contract/src/host/run.ts";
import {
  startServer,
  type ModelServer,
  type RecordedRequest,
  type ReplyScript,
  type ReplyStep,
} from "../../servers/server.ts";
import { realProgram } from "../programs.ts";

export type AgentName = "claude" | "codex";

const PROGRAMS = {
  claude: () => realProgram("@agentclientprotocol/claude-agent-acp", "claude-agent-acp"),
  codex: () => realProgram("@agentclientprotocol/codex-acp", "codex-acp"),
};

/** Model names that the agents accept. */
const MODELS = {
  claude: { provider: "anthropic", api: "anthropic-messages", id: "claude-opus-5-5" },
  codex: { provider: "local", api: "openai-responses", id: "gpt-5.5" },
};

export interface AcpHostOptions {
  /** Default: `lossless`. */
  slot?: string;
  engine?: ContextEngine;
  permission?: "ask" | "deny" | "auto" | "read-only";
  maxSteps?: number;
  /** In addition to the agent's program. */
  entry?: Record<string, unknown>;
  more?: Partial<PagurusOptions>;
}

/** A host's tool that is offered to the model. */
export const NOTE = "harbour_note";

export class AcpBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-acp-"));
  readonly agent: AgentName;
  readonly server: ModelServer;
  /** The arguments of its calls. */
  readonly notes: string[] = [];
  readonly #hosts: Pagurus[] = [];

  private constructor(agent: AgentName, server: ModelServer) {
    this.agent = agent;
    this.server = server;
    for (const name of ["work", "codex", "claude", "user"]) mkdirSync(join(this.root, name));
  }

  /** `script` answers the requests of the turns; side calls of the agent get a short text. */
  static async with(
    agent: AgentName,
    script: (request: RecordedRequest, main: number) => ReplyStep,
  ): Promise<AcpBench> {
    let main = 0;
    const answer: ReplyScript = (request) =>
      isMain(request) ? script(request, main++) : { text: "A title" };
    const { api, id } = MODELS[agent];
    const protocol = api as "anthropic-messages" | "openai-responses";
    return new AcpBench(agent, await startServer({ protocol, script: answer, models: [id] }));
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  get env(): Record<string, string | undefined> {
    return {
      PATH: process.env["PATH"],
      HOME: join(this.root, "user"),
      CODEX_HOME: join(this.root, "codex"),
      CLAUDE_CONFIG_DIR: join(this.root, "claude"),
      // Claude Code requires it when it runs as root.
      IS_SANDBOX: "1",
      PAGURUS_NO_PROBE: "1",
    };
  }

  async host(options: AcpHostOptions = {}): Promise<Pagurus> {
    const { engine, more } = options;
    const made = await createPagurus({
      home: join(this.root, "home"),
      env: this.env,
      ...(engine ? { engines: { [engine.info.id]: () => engine } } : {}),
      plugins: {
        harbour: (api) => {
          api.registerTool({
            name: NOTE,
            description: "Notes a word in the harbour book.",
            parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
            execute: async ({ word }) => {
              this.notes.push(String(word));
              return { content: [{ type: "text", text: `noted ${String(word)}` }], isError: false };
            },
          });
        },
      },
      config: this.#config(options),
      ...more,
    });
    this.#hosts.push(made);
    return made;
  }

  #config({ slot = "lossless", engine, permission = "auto", maxSteps, entry }: AcpHostOptions): object {
    const { provider, api, id } = MODELS[this.agent];
    const ref = `${provider}/${id}`;
    const baseUrl = this.server.url;
    return {
      session: { scope: "main" },
      models: {
        providers: {
          [provider]: {
            api,
            baseUrl,
            apiKey: "test-key",
            models: [{ id, contextWindow: 200_000, maxTokens: 4_000 }],
          },
        },
      },
      agents: {
        defaults: {
          model: ref,
          permission: { mode: permission },
          ...(maxSteps === undefined ? {} : { maxSteps }),
          models: { [ref]: { agentRuntime: { id: "acp", agentId: this.agent } } },
        },
      },
      plugins: {
        slots: { contextEngine: engine?.info.id ?? slot },
        entries: {
          acp: { config: { agents: { [this.agent]: { command: PROGRAMS[this.agent](), ...entry } } } },
        },
      },
      logging: { level: "debug" },
    };
  }

  /** A turn, however it ends. */
  async turn(
    pagurus: Pagurus,
    prompt: string,
    more: Partial<RunRequest> = {},
    on: (event: TurnEvent, abort: () => void) => void = () => undefined,
  ): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    const run = pagurus.run({ prompt, cwd: this.cwd, ...more });
    for await (const event of run) {
      events.push(event);
      on(event, () => run.abort());
    }
    return events;
  }

  /** A turn that has to complete. */
  async ask(pagurus: Pagurus, prompt: string, more: Partial<RunRequest> = {}): Promise<TurnEvent[]> {
    const events = await this.turn(pagurus, prompt, more);
    const last = events.at(-1);
    assert.equal(last?.type, "turn.completed", JSON.stringify(last));
    return events;
  }

  /** Requests of the turns, without the agent's side calls. */
  get mains(): RecordedRequest[] {
    return this.server.requests.filter(isMain);
  }

  main(index: number): RecordedRequest {
    const request = this.mains.at(index);
    assert.ok(request, `main request ${index} of ${this.mains.length}`);
    return request;
  }

  /** How the agent's model calls the host's tool. */
  noteCall(id: string, word: string): NonNullable<ReplyStep["toolCalls"]>[number] {
    if (this.agent === "claude") return { id, name: `mcp__pagurus__${NOTE}`, arguments: { word } };
    return { id, name: NOTE, namespace: "mcp__pagurus", arguments: { word } };
  }

  transcript(pagurus: Pagurus): AgentMessage[] {
    const reader = pagurus.sessions().openReader("main");
    try {
      return reader.contextMessages().messages;
    } finally {
      reader.close();
    }
  }

  async end(): Promise<void> {
    for (const host of this.#hosts) await host.close();
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Titles have no tools; requests for suggestions and summaries contain these sentences. */
function isMain(request: RecordedRequest): boolean {
  const { tools } = request.body;
  if (!Array.isArray(tools) || tools.length <= 3) return false;
  return !/^\[SUGGESTION MODE|<summary> block/m.test(userTexts(request).at(-1) ?? "");
}

/** The user's texts of a request, one for each part, including those that the agent adds. */
export function userTexts(request: RecordedRequest): string[] {
  const messages = (request.body["messages"] ?? request.body["input"]) as Record<string, unknown>[];
  return messages.filter(({ role }) => role === "user").flatMap(({ content }) => texts(content));
}

function texts(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return (content as Record<string, unknown>[]).flatMap((part) =>
    typeof part["text"] === "string" ? [part["text"]] : [],
  );
}

/** How often a text occurs in the whole request. */
export function count(request: RecordedRequest, text: string): number {
  return request.text.split(text).length - 1;
}

/** One message a line: role, and its text or calls. */
export function lines(messages: readonly AgentMessage[]): string[] {
  return messages.map((message) => {
    if (typeof message.content === "string") return `${message.role}: ${message.content}`;
    const parts = message.content.map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "toolCall" ? `call ${part.name} ${JSON.stringify(part.arguments)}` : part.type;
    });
    return `${message.role}: ${parts.join(" | ")}`;
  });
}

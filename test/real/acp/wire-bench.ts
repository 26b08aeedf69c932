/**
 * A host whose agent's requests pass the model gateway, and what these show of a conversation whose markers each name their
 * source.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { realProgram } from "../programs.ts";
import { type AgentName, NOTE } from "./acp-bench.ts";

const PROGRAMS = {
  claude: () => realProgram("@agentclientprotocol/claude-agent-acp", "claude-agent-acp"),
  codex: () => realProgram("@agentclientprotocol/codex-acp", "codex-acp"),
};
const MODELS = {
  claude: { api: "anthropic-messages", id: "claude-opus-5-5" },
  codex: { api: "openai-responses", id: "gpt-5.5" },
} as const;
const MARKER = /\b(asked|verbatim)-\d+-\1\b|w\d+-\d+[ab]-w/g;

type Item = Record<string, unknown>;

function markersOf(text: string): string[] {
  return text.match(MARKER) ?? [];
}

/** Requested by the host itself, not by a program. */
function isSummary(request: RecordedRequest): boolean {
  return nativeIdOf(request) === undefined && request.body["tools"] === undefined;
}

export class WireBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-acp-wire-"));
  readonly agent: AgentName;
  readonly server: ModelServer;
  #host: Pagurus | undefined;

  private constructor(agent: AgentName, server: ModelServer) {
    this.agent = agent;
    this.server = server;
    for (const name of ["work", "codex", "claude", "user"]) mkdirSync(join(this.root, name));
  }

  /** `script` answers the turns' requests; a summary contains all the markers that it replaces. */
  static async with(agent: AgentName, script: (nth: number) => ReplyStep): Promise<WireBench> {
    let nth = 0;
    const { api, id } = MODELS[agent];
    const server = await startServer({
      protocol: api,
      models: [id],
      script: (request) => {
        if (isConversation(request)) return script(nth++);
        if (!isSummary(request)) return { text: "A title" };
        return { text: `## Goal\n- ${[...new Set(markersOf(request.text))].join(" ")}` };
      },
    });
    return new WireBench(agent, server);
  }

  get mains(): RecordedRequest[] {
    return this.server.requests.filter(isConversation);
  }

  get cwd(): string {
    return join(this.root, "work");
  }

  noteCall(id: string, word: string): NonNullable<ReplyStep["toolCalls"]>[number] {
    if (this.agent === "claude") return { id, name: `mcp__pagurus__${NOTE}`, arguments: { word } };
    return { id, name: NOTE, namespace: "mcp__pagurus", arguments: { word } };
  }

  async host(lossless: object): Promise<Pagurus> {
    const { agent, root } = this;
    const { api, id } = MODELS[agent];
    const models = [{ id, contextWindow: 200_000, maxTokens: 4_000 }];
    const ref = `local/${id}`;
    const mine = { command: PROGRAMS[agent](), context: "wire" };
    this.#host = await createPagurus({
      home: join(root, "home"),
      env: {
        PATH: process.env["PATH"],
        HOME: join(root, "user"),
        CODEX_HOME: join(root, "codex"),
        CLAUDE_CONFIG_DIR: join(root, "claude"),
        // Claude Code requires it when it runs as root.
        IS_SANDBOX: "1",
        PAGURUS_NO_PROBE: "1",
      },
      plugins: {
        harbour: (plugin) =>
          plugin.registerTool({
            name: NOTE,
            description: "Notes a word in the harbour book.",
            parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
            execute: ({ word }) =>
              Promise.resolve({ content: [{ type: "text", text: `noted ${String(word)}` }], isError: false }),
          }),
      },
      config: {
        session: { scope: "main" },
        models: { providers: { local: { api, baseUrl: this.server.url, apiKey: "test-key", models } } },
        agents: {
          defaults: {
            model: ref,
            maxSteps: 100,
            permission: { mode: "auto" },
            models: { [ref]: { agentRuntime: { id: "acp", agentId: agent } } },
          },
        },
        plugins: {
          slots: { contextEngine: "lossless" },
          entries: { lossless: { config: lossless }, acp: { config: { agents: { [agent]: mine } } } },
        },
      },
    });
    return this.#host;
  }

  async end(): Promise<void> {
    await this.#host?.close();
    await this.server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Titles have no tools; requests for suggestions contain these sentences. */
function isConversation({ body, text }: RecordedRequest): boolean {
  const { tools } = body;
  return Array.isArray(tools) && tools.length > 3 && !text.includes("[SUGGESTION MODE");
}

function itemsOf({ body }: RecordedRequest): Item[] {
  return (body["messages"] ?? body["input"]) as Item[];
}

/** Markers in a request, those in a summary separately; arguments of calls are left out. */
function shown(request: RecordedRequest): { verbatim: string[]; summed: Set<string> } {
  const verbatim: string[] = [];
  const summed = new Set<string>();
  const read = (value: unknown): void => {
    if (typeof value === "string") {
      for (const marker of markersOf(value))
        if (value.includes("<conversation_summary>")) summed.add(marker);
        else verbatim.push(marker);
    } else if (Array.isArray(value)) for (const each of value) read(each);
    else if (typeof value === "object" && value !== null)
      for (const [key, each] of Object.entries(value)) if (key !== "arguments" && key !== "input") read(each);
  };
  for (const item of itemsOf(request)) read(item);
  return { verbatim, summed };
}

/** Markers that are missing, or that occur more than once verbatim. */
export function notOnce(request: RecordedRequest, markers: readonly string[]): string[] {
  const { verbatim, summed } = shown(request);
  return markers.flatMap((word) => {
    const count = verbatim.filter((other) => other === word).length;
    return count > 1 || (count === 0 && !summed.has(word)) ? [`${word} ${count} times`] : [];
  });
}

/** Each call has a result, and each result a call. */
export function assertPairs(request: RecordedRequest): void {
  const items = itemsOf(request);
  const blocks = items.flatMap(({ content }) => (Array.isArray(content) ? (content as Item[]) : []));
  const idsOf = (types: Record<string, string>): string[] =>
    [...items, ...blocks].flatMap((block) => {
      const key = types[String(block["type"])];
      return key === undefined ? [] : [String(block[key])];
    });
  const calls = idsOf({ function_call: "call_id", tool_use: "id" });
  const results = idsOf({ function_call_output: "call_id", tool_result: "tool_use_id" });
  assert.deepEqual(results.toSorted(), calls.toSorted());
}

/** The program's own id of its conversation. */
export function nativeIdOf({ headers }: RecordedRequest): unknown {
  return headers["x-claude-code-session-id"] ?? headers["session_id"] ?? headers["session-id"];
}

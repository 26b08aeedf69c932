import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import {
  startServer,
  type ModelServer,
  type RecordedRequest,
  type ReplyScript,
} from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { claudeBinary, realProgram } from "../programs.ts";

const TURNS = 30;
const TOOL = "tide_table";

/** What runs a turn: the runtime, a model that its program supports, and how the context reaches that. */
const SHELLS = [
  { runtime: "embedded", model: "messages/model", seam: "embedded" },
  { runtime: "codex", model: "responses/model", seam: "thread" },
  { runtime: "claude-cli", model: "messages/model", seam: "thread" },
  { runtime: "acp", model: "messages/claude-opus-5-5", seam: "projection" },
] as const;

type Shell = (typeof SHELLS)[number];

/** In this order, repeated, every runtime follows every other one. */
const ORDER = [0, 1, 2, 3, 0, 2, 1, 3, 2, 0, 3, 1];

function shellOf(turn: number): Shell {
  const shell = SHELLS[ORDER[turn % ORDER.length] ?? 0];
  assert.ok(shell);
  return shell;
}

const asked = (turn: number): string => `asked-${turn}-asked`;
const found = (turn: number): string => `found-${turn}-found`;
const answered = (turn: number): string => `verbatim-${turn}-verbatim`;

interface Tool {
  type?: string;
  name?: string;
  function?: { name?: string };
  tools?: Tool[];
}

function toolsOf({ body }: RecordedRequest): Tool[] {
  return Array.isArray(body["tools"]) ? (body["tools"] as Tool[]) : [];
}

/** The host's tool as this request offers it. */
function offered(request: RecordedRequest): { name: string; namespace?: string } | undefined {
  for (const tool of toolsOf(request)) {
    const inner = (tool.tools ?? []).find(({ name }) => name === TOOL);
    if (inner && tool.name !== undefined) return { name: TOOL, namespace: tool.name };
    if (tool.name?.endsWith(TOOL) === true) return { name: tool.name };
  }
  // Claude Code over ACP puts the tools of servers elsewhere in the request; a title request has no tools at all.
  return toolsOf(request).length > 3 ? { name: `mcp__pagurus__${TOOL}` } : undefined;
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe("one session that changes its runtime at each turn", () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-switching-"));
  const servers: ModelServer[] = [];
  let pagurus: Pagurus | undefined;

  after(async () => {
    await pagurus?.close();
    for (const server of servers) await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });

  /** The first request of a turn is answered by a call, the second by text. */
  let turn = 0;
  let step = 0;
  const turnIds: string[] = [];
  const mains: { turn: number; request: RecordedRequest }[] = [];
  const script: ReplyScript = (request) => {
    const tool = offered(request);
    if (!tool) return { text: "A title" };
    mains.push({ turn, request });
    step += 1;
    if (step > 1) return { text: answered(turn) };
    return { toolCalls: [{ id: `call_${turn}`, ...tool, arguments: { day: turn } }] };
  };

  async function host(): Promise<Pagurus> {
    for (const name of ["work", "user", "codex", "claude"]) mkdirSync(join(root, name));
    const responses = await startServer({ protocol: "openai-responses", script });
    servers.push(responses);
    const models = ["claude-opus-5-5"];
    const messages = await startServer({ protocol: "anthropic-messages", script, models });
    servers.push(messages);
    const limits = { contextWindow: 200_000, maxTokens: 4_000 };
    return createPagurus({
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
        harbour: (api) =>
          api.registerTool({
            name: TOOL,
            description: "The tide of a day.",
            parameters: { type: "object", properties: { day: { type: "number" } }, required: ["day"] },
            execute: ({ day }) =>
              Promise.resolve({ content: [{ type: "text", text: found(Number(day)) }], isError: false }),
          }),
      },
      config: {
        session: { scope: "main" },
        models: {
          providers: {
            responses: {
              api: "openai-responses",
              baseUrl: responses.url,
              apiKey: "test-key",
              models: [{ id: "model", ...limits }],
            },
            messages: {
              api: "anthropic-messages",
              baseUrl: messages.url,
              apiKey: "test-key",
              models: [
                { id: "model", ...limits },
                { id: "claude-opus-5-5", ...limits },
              ],
            },
          },
        },
        agents: {
          defaults: {
            model: "messages/model",
            permission: { mode: "auto" },
            models: { "messages/claude-opus-5-5": { agentRuntime: { id: "acp", agentId: "claude" } } },
          },
        },
        plugins: {
          slots: { contextEngine: "lossless" },
          entries: {
            codex: { config: { command: codexBinary(), sandbox: "danger-full-access" } },
            "claude-cli": { config: { command: claudeBinary() } },
            acp: {
              config: {
                agents: {
                  claude: {
                    command: realProgram("@agentclientprotocol/claude-agent-acp", "claude-agent-acp"),
                  },
                },
              },
            },
          },
        },
      },
    });
  }

  it(`each of ${TURNS} turns receives every earlier message, once, at the seam in its receipt`, async () => {
    pagurus = await host();
    const missing: string[] = [];
    for (turn = 0; turn < TURNS; turn += 1) {
      step = 0;
      const { runtime, model, seam } = shellOf(turn);
      const events: TurnEvent[] = [];
      const run = pagurus.run({ prompt: asked(turn), cwd: join(root, "work"), runtime, model });
      for await (const event of run) events.push(event);
      const last = events.at(-1);
      assert.equal(last?.type, "turn.completed", `turn ${turn} on ${runtime}: ${JSON.stringify(last)}`);
      assert.deepEqual(last.degraded, [], `turn ${turn} on ${runtime}`);
      turnIds.push(last.turnId);
      assert.deepEqual([last.runtime, last.seam, last.model], [runtime, seam, model]);
      for (const { request } of mains.filter((main) => main.turn === turn))
        for (let before = 0; before < turn; before += 1)
          for (const word of [asked(before), found(before), answered(before)])
            if (count(request.text, word) !== 1)
              missing.push(`turn ${turn} on ${runtime}: ${word} ${count(request.text, word)} times`);
      const newest = mains.at(-1)?.request.text ?? "";
      for (const word of [asked(turn), found(turn)])
        if (count(newest, word) !== 1) missing.push(`turn ${turn} on ${runtime}: its own ${word}`);
    }
    assert.deepEqual(missing, []);
    assert.equal(mains.length, 2 * TURNS);
    assert.equal(new Set(mains.map((main) => shellOf(main.turn).runtime)).size, SHELLS.length);
  });

  it("its receipts name runtime, model and seam of each request", async () => {
    assert.ok(pagurus);
    for (const [index, turnId] of turnIds.entries()) {
      const { runtime, model, seam } = shellOf(index);
      const receipts = await pagurus.context.receipts({ turnId });
      assert.equal(receipts.length, 2, `turn ${index} on ${runtime}`);
      for (const receipt of receipts)
        assert.deepEqual([receipt.runtime, receipt.model, receipt.seam], [runtime, model, seam]);
    }
    assert.equal(turnIds.length, TURNS);
  });
});

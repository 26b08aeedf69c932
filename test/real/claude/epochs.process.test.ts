/**
 * Seam "claude": in each turn the endpoint gets exactly the engine's context and the live turn, in true roles, through
 * compactions of the engine; one native session for each epoch, and Claude Code's own compaction never runs.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, EngineFactoryContext } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { ClaudeBench, conversation, systemOf } from "./claude-bench.ts";

const TURNS = 40;
const LONG_TURN = 12;
const ROUNDS = 60;

/** The engine of the slot, with its last result. */
class Spy {
  last: AssembleResult | undefined;

  make(context: EngineFactoryContext): ContextEngine {
    const engine = createLosslessEngine(context);
    return {
      ...engine,
      info: { ...engine.info, id: "spy" },
      assemble: async (params) => {
        const answer = await engine.assemble(params);
        this.last = answer;
        return answer;
      },
    };
  }
}

function text(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function linesOf(messages: readonly AgentMessage[]): string[] {
  return messages.flatMap((message): string[] => {
    if (message.role === "user") return [`user: ${text(message)}`];
    if (message.role === "toolResult") return [`result ${message.toolCallId} ${text(message)}`];
    return message.content.flatMap((part): string[] => {
      if (part.type === "text") return [`assistant: ${part.text}`];
      return part.type === "toolCall" ? [`call ${part.name} ${part.id}`] : [];
    });
  });
}

/** The host appends the input to the engine's context. */
function withoutInput(messages: readonly AgentMessage[], prompt: string): AgentMessage[] {
  const last = messages.at(-1);
  return last?.role === "user" && text(last) === prompt ? messages.slice(0, -1) : [...messages];
}

function isMain({ headers }: RecordedRequest): boolean {
  return headers["x-claude-code-session-id"] !== undefined;
}

const MORE =
  "The keeper of the quay wrote down which ships had come, and when they were to leave again. ".repeat(5);

describe(`${TURNS} turns on Claude Code, one of ${ROUNDS} rounds, through compactions of the engine`, () => {
  it("show the model the engine's context in true roles, once, and Claude Code never compacts", async () => {
    let rounds = 0;
    let turn = 0;
    const bench = await ClaudeBench.with((request, index): ReplyStep => {
      if (!isMain(request)) return { text: "## Goal\n- The berths are looked after." };
      const wanted = turn === LONG_TURN ? ROUNDS : turn % 3;
      if (rounds >= wanted) return { text: `Answer of ${turn}. ${MORE}` };
      rounds += 1;
      const [name, args] =
        index % 2 === 0
          ? ["Bash", { command: `echo ${turn} ${rounds}` }]
          : ["mcp__pagurus__note", { word: `${turn}` }];
      const id = `toolu_${index}`;
      return {
        text: `Round ${rounds} of ${turn}. ${turn === LONG_TURN ? "" : MORE}`,
        toolCalls: [{ id, name: String(name), arguments: args as Record<string, unknown> }],
      };
    });
    const spy = new Spy();
    try {
      const pagurus = await bench.host({
        contextWindow: 60_000,
        maxSteps: 100,
        slot: "spy",
        plugins: { lossless: { config: { trigger: 5_000, headTokens: 1_500, tailTokens: 2_000 } } },
        more: {
          engines: { spy: (context) => spy.make(context) },
          plugins: {
            notes: (api) =>
              api.registerTool({
                name: "note",
                description: "Takes a note.",
                parameters: { type: "object", properties: { word: { type: "string" } } },
                execute: async ({ word }) => ({
                  content: [{ type: "text", text: `noted ${String(word)}` }],
                  isError: false,
                }),
              }),
          },
        },
      });
      let epoch: string | undefined;
      let native: unknown;
      let sessions = 0;
      const epochs = new Set<string>();
      for (turn = 0; turn < TURNS; turn += 1) {
        rounds = 0;
        const from = bench.server.requests.length;
        const prompt = `Request ${turn}: look after berth ${turn}. ${MORE}`;
        const events = await bench.ask(pagurus, prompt);
        const requests = bench.server.requests.slice(from).filter(isMain);
        const [first] = requests;
        assert.ok(first && spy.last);
        assert.equal(requests.length, rounds + 1, `requests of turn ${turn}`);
        const history = withoutInput(spy.last.messages, prompt);
        const expected = [...linesOf(history), `user: ${prompt}`].map(asNative);
        assert.deepEqual(conversation(first), expected, `turn ${turn}`);
        assertGrows(requests);
        assert.equal(systemOf(first).length, 1, "one copy of the instructions");
        const addition = spy.last.systemPromptAddition ?? "";
        assert.ok(systemOf(first)[0]?.includes(addition), "with the engine's addition");
        const lanes = events.flatMap((event) => (event.type === "compaction.started" ? [event.lane] : []));
        assert.ok(!lanes.includes("harness"), "no compaction of its own");
        const now = spy.last.contextProjection?.epoch ?? "";
        epochs.add(now);
        const id = first.headers["x-claude-code-session-id"];
        if (id === native) assert.equal(now, epoch, "a session is one epoch");
        else sessions += 1;
        native = id;
        epoch = now;
      }
      const kept = readdirSync(join(bench.root, "home", "runtimes", "claude"), { recursive: true }).map(
        String,
      );
      assert.deepEqual(
        kept.filter((name) => /^projects\/.*\.jsonl$/.test(name)),
        [],
        "no words are left on the disk",
      );
      assert.ok(epochs.size >= 4, `${epochs.size} epochs`);
      assert.equal(sessions, epochs.size, "no more sessions than epochs");
      assert.ok(
        !bench.server.requests.some(({ text: sent }) => sent.includes("CRITICAL: Respond with TEXT ONLY")),
      );
    } finally {
      await bench.end();
    }
    await bench.nothingLeft();
  });
});

/** Tools of the host have a longer name in the model's requests. */
function asNative(line: string): string {
  return line.replace(/^call note /, "call mcp__pagurus__note ");
}

function assertGrows(requests: readonly RecordedRequest[]): void {
  for (const [index, request] of requests.entries()) {
    const before = requests[index - 1];
    if (!before) continue;
    const [old, now] = [conversation(before), conversation(request)];
    assert.deepEqual(now.slice(0, old.length), old, `request ${index} of the turn`);
    const [, call, result, ...more] = now.slice(old.length);
    assert.ok(call?.startsWith("call ") && result?.startsWith("result ") && more.length === 0);
    assert.deepEqual(request.body["tools"], before.body["tools"]);
  }
}

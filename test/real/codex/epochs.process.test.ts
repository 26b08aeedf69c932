/**
 * Claim "model-visible": after each turn the endpoint got the engine's context and the live turn, through several
 * compactions, on one thread for each epoch.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, EngineFactoryContext } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { projectContextEngineAssemblyForCodex } from "../../../packages/runtimes/src/codex/codex-projection.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";
import { FULL } from "../../runner/short-form.ts";

const TURNS = FULL ? 100 : 24;
const LONG_TURN = 10;
const ROUNDS = FULL ? 150 : 20;
/** Tokens at which the engine compacts: often, however short the run. */
const TRIGGER = FULL ? 9_000 : 5_000;

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

const MORE =
  "The keeper of the quay wrote down which ships had come, and when they were to leave again. ".repeat(6);

const CASES = ["thread", "projection"].flatMap((seam) =>
  ["unknown-model", "gpt-6-sol"].map((modelId) => ({ seam: seam as "thread" | "projection", modelId })),
);

for (const { seam, modelId } of CASES)
  describe(`${TURNS} turns of ${modelId} on Codex, seam ${seam}, through compactions of the engine`, () => {
    it("show the model the engine's context and the live turn, nothing twice, nothing missing", async () => {
      let rounds = 0;
      let turn = 0;
      const bench = await CodexBench.with((request, index) => {
        if (!isMain(request)) return { text: "## Goal\n- The berths are looked after." };
        const wanted = turn === LONG_TURN ? ROUNDS : turn % 3;
        if (rounds >= wanted) return { text: `Answer of ${turn}. ${MORE}` };
        rounds += 1;
        const call = {
          id: `call_${index}`,
          name: "exec_command",
          arguments: { cmd: `echo ${turn} ${rounds}` },
        };
        return { text: `Round ${rounds} of ${turn}. ${MORE}`, toolCalls: [call] };
      });
      const spy = new Spy();
      try {
        const pagurus = await bench.host({
          modelId,
          contextWindow: 40_000,
          seam,
          slot: "spy",
          more: { engines: { spy: (context) => spy.make(context) } },
          plugins: { lossless: { config: { trigger: TRIGGER, headTokens: 1_500, tailTokens: 2_000 } } },
        });
        let epoch: string | undefined;
        const epochs = new Set<string>();
        let newThreads = 0;
        let key: unknown;
        for (turn = 0; turn < TURNS; turn += 1) {
          rounds = 0;
          const from = bench.server.requests.length;
          const prompt = `Request ${turn}: look after berth ${turn}. ${MORE}`;
          await bench.ask(pagurus, prompt);
          const requests = bench.server.requests.slice(from).filter(isMain);
          const [first] = requests;
          assert.ok(first && spy.last);
          const history = withoutInput(spy.last.messages, prompt);
          assert.deepEqual(
            conversation(first),
            seam === "thread" ? [...linesOf(history), `user: ${prompt}`] : [projected(history, prompt)],
            `turn ${turn}`,
          );
          assertGrows(requests);
          const instructions = developerTexts(first).filter((instruction) =>
            instruction.includes("Working folder:"),
          );
          assert.equal(instructions.length, 1, "one copy of the developer instructions");
          const now = spy.last.contextProjection?.epoch ?? "";
          epochs.add(now);
          const isNew = first.body["prompt_cache_key"] !== key;
          if (isNew) newThreads += 1;
          else if (seam === "projection") assert.fail("a projection has a thread of its own");
          else assert.equal(now, epoch, "a thread is one epoch");
          key = first.body["prompt_cache_key"];
          epoch = now;
        }
        assert.ok(epochs.size >= (FULL ? 5 : 3), `${epochs.size} epochs`);
        if (seam === "thread") assert.equal(newThreads, epochs.size, "no more threads than epochs");
      } finally {
        await bench.end();
      }
    });
  });

/** A request of the turn: the engine's own summaries come from the host, Codex's compactions are marked. */
function isMain({ headers }: RecordedRequest): boolean {
  const about = headers["x-codex-turn-metadata"];
  return about !== undefined && !String(about).includes('"request_kind":"compaction"');
}

/** As in the specification, the prompt last. */
function projected(history: AgentMessage[], prompt: string): string {
  const { promptText } = projectContextEngineAssemblyForCodex({
    assembledMessages: history,
    originalHistoryMessages: history,
    prompt,
  });
  assert.ok(promptText.endsWith(prompt));
  return `user: ${promptText}`;
}

/** The host appends the input to the engine's context. */
function withoutInput(messages: readonly AgentMessage[], prompt: string): AgentMessage[] {
  const last = messages.at(-1);
  return last?.role === "user" && text(last) === prompt ? messages.slice(0, -1) : [...messages];
}

function assertGrows(requests: readonly RecordedRequest[]): void {
  for (const [index, request] of requests.entries()) {
    const before = requests[index - 1];
    if (!before) continue;
    const [old, now] = [before, request].map(({ body }) => body["input"] as unknown[]);
    assert.deepEqual(now?.slice(0, old?.length), old, `request ${index} of the turn`);
    assert.deepEqual(request.body["tools"], before.body["tools"]);
  }
}

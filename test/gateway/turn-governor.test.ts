/** How a turn of the host governs its requests. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { missingResult } from "../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { WireTurn } from "../../packages/contract/src/harness/wire.ts";
import { completionsDialect } from "../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import type { WireRequest } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import { splice } from "../../packages/gateway/src/splice/splice-request.ts";
import { TurnGovernor } from "../../packages/gateway/src/governor/turn-governor.ts";

type Element = Record<string, unknown>;

function read(messages: readonly Element[]): WireRequest {
  return completionsDialect.read(
    "/chat/completions",
    {},
    Buffer.from(JSON.stringify({ model: "m", messages })),
  );
}

function user(text: string, entryId?: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }], ...(entryId === undefined ? {} : { entryId }) };
}

function call(id: string, entryId: string): AgentMessage {
  return { role: "assistant", content: [{ type: "toolCall", id, name: "look", arguments: {} }], entryId };
}

function result(id: string, entryId: string): AgentMessage {
  const content = [{ type: "text" as const, text: "seen" }];
  return { role: "toolResult", toolCallId: id, toolName: "look", content, isError: false, entryId };
}

type Shown = () => { messages: AgentMessage[]; historyCount: number };

function turnOf(messages: AgentMessage[], shown: Shown): WireTurn {
  const turn: Partial<WireTurn> = {
    turnId: "t1",
    model: { ref: "local/m" } as WireTurn["model"],
    engine: { governs: true } as WireTurn["engine"],
    assemble: () => Promise.resolve(shown() as Awaited<ReturnType<WireTurn["assemble"]>>),
    messages: () => messages,
  };
  return turn as WireTurn;
}

/** A governor with a turn of these messages, and an engine that shows `shown`. */
function governed(messages: AgentMessage[], shown: Shown): TurnGovernor {
  const governor = new TurnGovernor({
    sessionKey: "main",
    runtime: "test",
    resolve: () => assert.fail("not asked"),
    upstreamFor: () => assert.fail("not asked"),
  });
  governor.serve(turnOf(messages, shown));
  return governor;
}

const CALL = { request: 0, signal: new AbortController().signal };

async function sent(governor: TurnGovernor, request: WireRequest): Promise<Element[]> {
  const answer = await governor.main(request, CALL);
  assert.ok(answer);
  const { body } = splice(request, answer, completionsDialect);
  return (JSON.parse(Buffer.concat(body).toString()) as { messages: Element[] }).messages;
}

const RULES = { role: "system", content: "rules" };
const OLD = [
  { role: "user", content: "one" },
  { role: "assistant", content: "first" },
];
const PROMPT = { role: "user", content: "<task>\ntwo\n</task>" };

describe("a turn's requests", () => {
  it("report the parts of an answer that its message does not have", () => {
    const reasons: string[] = [];
    const governor = governed([], () => ({ messages: [], historyCount: 0 }));
    governor.serve({
      ...turnOf([], () => ({ messages: [], historyCount: 0 })),
      degrade: (stage, reason) => void reasons.push(`${stage}: ${reason}`),
    });
    const message = { role: "assistant" as const, content: [] };
    governor.answered(read([{ role: "user", content: "two" }]), {
      message,
      isComplete: true,
      degraded: ["audio"],
    });
    assert.deepEqual(reasons, ["answer: the answer carried audio, which its message does not have"]);
  });

  it("keep the live turn of an agent that sends its tools' results as user text", async () => {
    const messages = [user("two", "e1")];
    const governor = governed(messages, () => ({
      messages: [user("SUMMARY"), ...messages],
      historyCount: 1,
    }));
    const first = [RULES, ...OLD, PROMPT];
    const summary = { role: "user", content: [{ type: "text", text: "SUMMARY" }] };
    assert.deepEqual(await sent(governor, read(first)), [RULES, summary, PROMPT]);
    messages.push(call("x1", "e2"), result("x1", "e3"));
    const step = [
      { role: "assistant", content: "<look/>" },
      { role: "user", content: "[look] seen" },
    ];
    const next = read([...first, ...step]);
    assert.equal(
      next.items[next.liveFrom]?.start,
      next.items.at(-1)?.start,
      "the dialect sees the newest words",
    );
    assert.deepEqual(await sent(governor, next), [RULES, summary, PROMPT, ...step]);
  });

  it("keep a result that the harness has and the transcript does not have yet", async () => {
    const messages = [user("two", "e1"), call("x1", "e2")];
    const missing = missingResult({ type: "toolCall", id: "x1", name: "look", arguments: {} });
    const governor = governed(messages, () => ({
      messages: [user("SUMMARY"), ...messages, missing],
      historyCount: 1,
    }));
    const asked = { id: "x1", type: "function", function: { name: "look", arguments: "{}" } };
    const step = [
      { role: "assistant", content: null, tool_calls: [asked] },
      { role: "tool", tool_call_id: "x1", content: "seen" },
    ];
    const request = read([RULES, ...OLD, PROMPT, ...step]);
    assert.deepEqual((await sent(governor, request)).slice(2), [PROMPT, ...step]);
    messages.push(result("x1", "e3"));
    assert.notDeepEqual((await sent(governor, request)).slice(2), [PROMPT, ...step], "the engine dropped it");
  });

  it("start over with each turn, and if the harness has other text there", async () => {
    const messages = [user("two", "e1")];
    const governor = governed(messages, () => ({ messages: messages, historyCount: 0 }));
    const first = await governor.main(read([RULES, ...OLD, PROMPT]), CALL);
    assert.equal(first?.liveFrom, 3);
    const later = [RULES, ...OLD, PROMPT, { role: "user", content: "three" }];
    assert.equal((await governor.main(read(later), CALL))?.liveFrom, 3);
    const shorter = [
      RULES,
      { role: "user", content: "summary" },
      PROMPT,
      { role: "assistant", content: "a" },
    ];
    const compacted = await governor.main(read([...shorter, { role: "user", content: "three" }]), CALL);
    assert.equal(compacted?.liveFrom, 4);
    governor.serve(turnOf(messages, () => ({ messages: messages, historyCount: 0 })));
    assert.equal((await governor.main(read(later), CALL))?.liveFrom, 4);
  });

  it("encode a result whose call the host has renamed again, with its call", async () => {
    const messages = [user("two", "e1"), call("c", "e2"), result("c", "e3")];
    const renamed = [user("two", "e1"), call("c_2", "e2"), result("c_2", "e3")];
    const governor = governed(messages, () => ({ messages: renamed, historyCount: 0 }));
    const answer = await governor.main(read([PROMPT]), CALL);
    assert.deepEqual(
      renamed.map((message) => answer?.isOriginal(message)),
      [true, false, false],
    );
  });
});

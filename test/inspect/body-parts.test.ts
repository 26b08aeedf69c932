/** Each byte of a body has exactly one source: generated bodies of the four protocols, and recorded ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { bodyParts } from "../../packages/server/src/inspect/parts/body-parts.ts";
import { isPartition, type BodyPart } from "../../packages/server/src/inspect/parts/body-part.ts";
import { receiptParts, type SystemPiece } from "../../packages/host/src/turn/receipts/receipt-parts.ts";
import { NAMES as GEMINI, recorded as gemini } from "../gateway/dialect/generate-content-recorded.ts";
import { NAMES as CLAUDE, recorded as claude } from "../gateway/dialect/messages-recorded.ts";
import { RECORDED as CODEX, recorded as codex } from "../gateway/dialect/responses-recorded.ts";
import { bodyOf, elementsOf, PROTOCOLS } from "../gateway/splice/harness-bodies.ts";
import { runs } from "../runner/short-form.ts";

interface Asked {
  system?: SystemPiece[];
  messages: AgentMessage[];
  historyCount?: number;
}

function known({ system = [], messages, historyCount = 0 }: Asked) {
  const { parts } = receiptParts({
    system,
    tools: [],
    messages,
    historyCount,
    trims: new Map(),
    developerRole: false,
  });
  const entries = messages.flatMap((message): [string, AgentMessage][] =>
    message.entryId === undefined ? [] : [[message.entryId, message]],
  );
  return { receipt: { parts }, messages: new Map(entries) };
}

function words(body: Buffer, { from, to }: BodyPart): string {
  return body.toString("utf8", from, to);
}

function whole(body: Buffer, parts: readonly BodyPart[]): void {
  assert.ok(isPartition(parts, body.length), JSON.stringify(parts));
  assert.ok(Buffer.concat(parts.map(({ from, to }) => body.subarray(from, to))).equals(body));
}

const text = fc.oneof(
  fc.constantFrom("go on", "ok", 'said "so"\n\n', "ümläut 😀", "\u202eturned", "<b>bold</b>\u001b[31m"),
  fc.string({ minLength: 1, unit: "grapheme" }),
);
const turn = fc.record({
  prompt: text,
  answer: text,
  calls: fc.integer({ min: 0, max: 3 }),
  result: text,
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

function transcript(turns: readonly Turn[]): AgentMessage[] {
  let calls = 0;
  const messages = turns.flatMap(({ prompt, answer, calls: count, result }): AgentMessage[] => {
    const ids = Array.from({ length: count }, () => `call_${(calls += 1)}`);
    const called: AgentMessage = {
      role: "assistant",
      content: ids.map((id) => ({ type: "toolCall", id, name: "look", arguments: { at: id } })),
    };
    const results = ids.map((toolCallId): AgentMessage => ({
      role: "toolResult",
      toolCallId,
      toolName: "look",
      content: [{ type: "text", text: result }],
      isError: false,
    }));
    return [
      { role: "user", content: [{ type: "text", text: prompt }] },
      ...(count > 0 ? [called, ...results] : []),
      { role: "assistant", content: [{ type: "text", text: answer }] },
    ];
  });
  return messages.map((message, at) => ({ ...message, entryId: `e${at}` }));
}

describe("the parts of a generated body", () => {
  for (const [name, protocol] of Object.entries(PROTOCOLS))
    it(`are the body, with every entry at its words: ${name}`, () => {
      fc.assert(
        fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), fc.nat(), (turns, split) => {
          const messages = transcript(turns);
          const historyCount = split % (messages.length + 1);
          const body = bodyOf(protocol, elementsOf(protocol, messages));
          const facts = known({ messages, historyCount });
          const parts = bodyParts({ api: protocol.dialect.api, body, ...facts });
          whole(body, parts);
          const found = parts.flatMap(({ entryIds = [] }) => entryIds);
          const missing = messages.filter(({ entryId }) => !found.includes(entryId ?? ""));
          assert.deepEqual(missing, [], "each entry is in the body");
          for (const { source, entryIds = [] } of parts)
            for (const id of entryIds)
              assert.equal(source, Number(id.slice(1)) < historyCount ? "kept" : "live");
          for (const part of parts.filter(({ source }) => source === "framing"))
            assert.match(words(body, part), /^[\s{}[\]:,"a-z_A-Z-]*$/);
        }),
        { numRuns: runs(500) },
      );
    });

  it("are one unread part where the body is not JSON, and a partition of any JSON", () => {
    const apis = Object.values(PROTOCOLS).map(({ dialect }) => dialect.api);
    fc.assert(
      fc.property(
        fc.constantFrom(...apis),
        fc.oneof(
          fc.json(),
          fc.string(),
          fc
            .dictionary(
              fc.constantFrom(
                "messages",
                "input",
                "tools",
                "system",
                "contents",
                "systemInstruction",
                "instructions",
              ),
              fc.jsonValue(),
            )
            .map((value) => JSON.stringify(value)),
        ),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (api, json, share) => {
          const body = Buffer.from(json.slice(0, Math.ceil(json.length * share)));
          whole(body, bodyParts({ api, body, messages: new Map() }));
        },
      ),
      { numRuns: runs(4_000) },
    );
    const body = Buffer.from('{"messages":[{"role":"user","con');
    const [only, ...others] = bodyParts({ api: "openai-completions", body, messages: new Map() });
    assert.deepEqual([only?.source, only?.to, others.length], ["unread", body.length, 0]);
  });
});

describe("the parts of a recorded body", () => {
  const samples: [name: string, api: WireApi, body: Buffer][] = [
    ...CLAUDE.map((name): [string, WireApi, Buffer] => [name, "anthropic-messages", claude(name).body]),
    ...CODEX.map((name): [string, WireApi, Buffer] => [name, "openai-responses", codex(name).body]),
    ...GEMINI.map((name): [string, WireApi, Buffer] => [name, "google-generative-ai", gemini(name).body]),
  ];
  it("are the body", () => {
    assert.ok(samples.length > 60);
    for (const [name, api, body] of samples) {
      const parts = bodyParts({ api, body, messages: new Map() });
      whole(body, parts);
      assert.ok(!parts.some(({ source }) => source === "unread"), name);
      assert.ok(
        parts.some(({ source }) => source === "harness"),
        `${name}: nothing is the harness's own`,
      );
    }
  });

  it("have one source for each word: framing is names, brackets and commas alone", () => {
    for (const [name, api, body] of samples)
      for (const part of bodyParts({ api, body, messages: new Map() }))
        if (part.source === "framing")
          assert.ok(words(body, part).length < 120, `${name}: ${words(body, part)}`);
  });
});

describe("a part", () => {
  const head = "<conversation_summary>\nWhat was\n</conversation_summary>";
  const recall = "<recalled_passages>\nonce\n</recalled_passages>";
  const message = (role: "user" | "assistant", content: string, entryId?: string): AgentMessage =>
    ({ role, content: [{ type: "text", text: content }], ...(entryId ? { entryId } : {}) }) as AgentMessage;
  const sources = (body: Buffer, parts: readonly BodyPart[]): string[] =>
    parts
      .filter(({ source }) => source !== "framing" && source !== "settings")
      .map(
        (part) =>
          `${part.source} ${part.entryIds?.join() ?? "-"} ${words(body, part).replace(/^.*?([A-Z]\w+).*$/s, "$1")}`,
      );

  it("is the engine's addition, an instruction file or our own prompt by its place in the system prompt", () => {
    const system: SystemPiece[] = [
      { source: "addition", text: "Addition of\n\nthe engine" },
      { source: "system", text: "Base rules\n\nWorking folder: /w" },
      { source: "instructions", path: "/w/AGENTS.md", text: 'Project "rules"' },
    ];
    const messages = [message("user", "Hello", "e0")];
    const body = Buffer.from(
      JSON.stringify({
        model: "m",
        system: system.map((piece) => piece.text).join("\n\n"),
        messages: [{ role: "user", content: "Hello" }],
      }),
    );
    const parts = bodyParts({ api: "anthropic-messages", body, ...known({ system, messages }) });
    whole(body, parts);
    assert.deepEqual(sources(body, parts), [
      "addition - Addition",
      "system - Base",
      "instructions - Project",
      "live e0 Hello",
    ]);
    const [, , third] = parts
      .filter(({ role }) => role === "system")
      .filter(({ source }) => source !== "framing");
    assert.equal(third?.path, "/w/AGENTS.md");
    assert.equal(words(body, third as BodyPart), 'Project \\"rules\\"');
  });

  it("is a summary, passages, kept and live words, also where the provider gets them as one text", () => {
    const messages = [
      message("user", head),
      message("user", "Kept words", "e1"),
      message("user", recall),
      message("user", "Live words", "e2"),
    ];
    const text = messages.map(({ content }) => (content as { text: string }[])[0]?.text).join("\n\n");
    const body = Buffer.from(
      JSON.stringify({
        model: "m",
        messages: [
          { role: "system", content: "Rules" },
          { role: "user", content: text },
        ],
      }),
    );
    const parts = bodyParts({ api: "openai-completions", body, ...known({ messages, historyCount: 2 }) });
    whole(body, parts);
    assert.deepEqual(
      parts
        .filter(({ source }) => source !== "framing" && source !== "settings")
        .map(({ source, entryIds }) => [source, entryIds?.join()]),
      [
        ["system", undefined],
        ["head", undefined],
        ["kept", "e1"],
        ["recall", undefined],
        ["live", "e2"],
      ],
    );
  });

  it("is the summary in all its blocks, and thinking is with its answer", () => {
    const messages = [
      message("user", head),
      message("user", "Hello", "e1"),
      message("assistant", "Answer", "e2"),
    ];
    const body = Buffer.from(
      JSON.stringify({
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: head.slice(0, 30) },
              { type: "text", text: head.slice(30) },
              { type: "text", text: "Hello" },
            ],
          },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Hm", signature: "s" },
              { type: "text", text: "Answer" },
            ],
          },
          { role: "user", content: "Harness reminder" },
        ],
      }),
    );
    const parts = bodyParts({ api: "anthropic-messages", body, ...known({ messages, historyCount: 1 }) });
    whole(body, parts);
    assert.deepEqual(
      parts
        .filter(({ source }) => source !== "framing")
        .map(({ source, entryIds, at }) => [source, entryIds?.join(), at]),
      [
        ["head", undefined, "messages[0].content[0]"],
        ["head", undefined, "messages[0].content[1]"],
        ["live", "e1", "messages[0].content[2]"],
        ["live", "e2", "messages[1]"],
        ["harness", undefined, "messages[2]"],
      ],
    );
  });

  it("was in the cache up to the count that the provider reported", () => {
    const messages = [message("user", "one ".repeat(200), "e0"), message("user", "two ".repeat(200), "e1")];
    const body = Buffer.from(
      JSON.stringify({ input: messages.map(({ content }) => ({ role: "user", content })) }),
    );
    const facts = known({ messages });
    const usage = { input: 210, output: 1, cacheRead: 200, totalTokens: 411 };
    const parts = bodyParts({
      api: "openai-responses",
      body,
      messages: facts.messages,
      receipt: { ...facts.receipt, usage },
    });
    assert.deepEqual(
      parts.filter(({ entryIds }) => entryIds).map(({ cached }) => cached),
      [true, false],
    );
  });
});

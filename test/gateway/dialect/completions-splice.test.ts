/** A Chat Completions request with its older part replaced by the engine's context. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isValidSequence } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { completionsDialect as dialect } from "../../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { splice } from "../../../packages/gateway/src/splice/splice-request.ts";
import { runs } from "../../runner/short-form.ts";

type Element = Record<string, unknown>;

interface Round {
  /** Number of calls in each answer before the last one. */
  calls: number[];
  isTrimmed: boolean;
}

/** The elements of a round as a harness writes them: with spaces that none of our encoders writes. */
function elementsOf({ calls }: Round, at: number): Element[] {
  const answers = calls.flatMap((count, step): Element[] => {
    const ids = Array.from({ length: count }, (_, each) => `call_${at}_${step}_${each}`);
    const made = ids.map((id) => ({
      id,
      type: "function",
      function: { name: "look", arguments: '{ "at": 1 }' },
    }));
    const results = ids.map((id) => ({
      role: "tool",
      tool_call_id: id,
      content: `seen by ${id}, at length`,
    }));
    return [{ role: "assistant", content: null, tool_calls: made }, ...results];
  });
  return [
    { role: "user", content: `Question ${at}` },
    ...answers,
    { role: "assistant", content: `Answer ${at}` },
  ];
}

function read(body: Buffer): WireRequest {
  return dialect.read("/chat/completions", {}, body);
}

function messagesOf({ items }: WireRequest): AgentMessage[] {
  return items.flatMap(({ messages }) => messages);
}

function trimmed(message: AgentMessage): AgentMessage {
  return message.role === "toolResult"
    ? { ...message, content: [{ type: "text", text: "trimmed" }] }
    : message;
}

const round = fc.record({
  calls: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
  isTrimmed: fc.boolean(),
});

describe("a Chat Completions request with the engine's context", () => {
  it("contains exactly that context after its own rules, and keeps the live turn's bytes", () => {
    let replaced = 0;
    fc.assert(
      fc.property(
        fc.array(round, { minLength: 1, maxLength: 5 }),
        fc.nat(5),
        fc.constantFrom(undefined, "Know this."),
        (rounds, dropped, addition) => {
          const lists = rounds.map(elementsOf);
          // The live turn is still running: its last answer is not there yet.
          const live = lists.at(-1)?.slice(0, -1) ?? [];
          const list = [{ role: "system", content: "Be brief." }, ...lists.slice(0, -1).flat(), ...live];
          const request = read(Buffer.from(JSON.stringify({ model: "m", messages: list }, undefined, 1)));
          assert.equal(request.liveFrom, list.length - live.length);
          const cut = Math.min(dropped, rounds.length - 1);
          const written = lists
            .slice(0, -1)
            .map((elements) => messagesOf(read(Buffer.from(JSON.stringify({ messages: elements })))));
          const kept = written
            .slice(cut)
            .flatMap((messages, at) =>
              rounds[cut + at]?.isTrimmed === true ? messages.map(trimmed) : messages,
            );
          const summary: AgentMessage[] = cut === 0 ? [] : [{ role: "user", content: "Earlier: much." }];
          const liveMessages = request.items.slice(request.liveFrom).flatMap(({ messages }) => messages);
          const messages = [...summary, ...kept, ...liveMessages];
          const context = {
            messages,
            historyCount: messages.length - liveMessages.length,
            ...(addition === undefined ? {} : { systemPromptAddition: addition }),
          };
          const spliced = splice(request, { context, isOriginal: () => false }, dialect);
          if (spliced.isReplaced) replaced += 1;
          const body = Buffer.concat(spliced.body);
          const again = read(body);
          assert.deepEqual(messagesOf(again), messages);
          assert.equal(isValidSequence(messagesOf(again)), undefined);
          assert.equal(again.prefixCount, addition === undefined ? 1 : 2);
          const tail = request.body.subarray(
            request.items[request.liveFrom]?.start,
            request.items.at(-1)?.end,
          );
          assert.ok(body.includes(tail));
        },
      ),
      { numRuns: runs(500), seed: 8 },
    );
    assert.ok(replaced > runs(500) / 5, `${replaced} were replaced`);
  });
});

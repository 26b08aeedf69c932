/** A generateContent request with its older part replaced by the engine's context; its calls have no ids, or a client's. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isValidSequence, repairPairs } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { generateContentDialect as dialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { splice } from "../../../packages/gateway/src/splice/splice-request.ts";
import { runs } from "../../runner/short-form.ts";

type Json = Record<string, unknown>;

interface Round {
  /** Number of calls in each answer before the last one. */
  calls: number[];
  isTrimmed: boolean;
  /** The calls are equal to those of other rounds. */
  isSame: boolean;
}

/** The elements of a round as Gemini CLI writes them: signed calls, and results with ids that the calls do not have. */
function elementsOf({ calls, isSame }: Round, at: number): Json[] {
  const answers = calls.flatMap((count, step): Json[] => {
    const made = Array.from({ length: count }, (_, each) => ({
      functionCall: { name: "look", args: isSame ? { at: 1 } : { at, step, each } },
      ...(each === 0 ? { thoughtSignature: `c2lnbmVk${at}${step}` } : {}),
    }));
    const results = made.map((_, each) => ({
      functionResponse: {
        id: `look_${at}_${step}_${each}`,
        name: "look",
        response: { output: `seen in ${at}, ${step} and ${each}, at length` },
      },
    }));
    return [
      { parts: [...(step === 0 ? [{ text: `I look ${at}.` }] : []), ...made], role: "model" },
      { parts: results, role: "user" },
    ];
  });
  return [
    { parts: [{ text: `Question ${at}` }], role: "user" },
    ...answers,
    { parts: [{ text: `Answer ${at}` }], role: "model" },
  ];
}

function read(body: Buffer): WireRequest {
  return dialect.read("/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", {}, body);
}

function messagesIn({ items }: Pick<WireRequest, "items">): AgentMessage[] {
  return items.flatMap(({ messages }) => messages);
}

/** Without signatures, which encoded calls have no others of than the documented one, and with the request's ids. */
function plain(messages: readonly AgentMessage[]): unknown[] {
  return messages.map((message) => {
    if (message.role === "toolResult") return ["result", message.toolName, message.content];
    if (message.role === "user") return ["user", message.content];
    return message.content.map((part) => (part.type === "toolCall" ? [part.name, part.arguments] : part));
  });
}

function trimmed(message: AgentMessage): AgentMessage {
  return message.role === "toolResult"
    ? { ...message, content: [{ type: "text", text: "trimmed" }] }
    : message;
}

const round = fc.record({
  calls: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
  isTrimmed: fc.boolean(),
  isSame: fc.boolean(),
});

interface Element {
  role: string;
  parts: Json[];
}

/** What the API checks: calls after the user's content, the results of all of them directly after, and a signature. */
function checkApi(contents: readonly Element[]): void {
  assert.equal(contents[0]?.role, "user");
  for (const [index, { role, parts }] of contents.entries()) {
    assert.ok(parts.length > 0);
    const calls = parts.filter((part) => part["functionCall"] !== undefined);
    const results = (contents[index + 1]?.parts ?? []).filter(
      (part) => part["functionResponse"] !== undefined,
    );
    if (role === "model" || calls.length > 0) assert.equal(contents[index - 1]?.role, "user");
    assert.equal(results.length, calls.length);
    if (calls.length > 0) assert.equal(typeof calls[0]?.["thoughtSignature"], "string");
    for (const [at, call] of calls.entries()) {
      const { id } = call["functionCall"] as Json;
      // Gemini 3 compares ids where the call has one.
      if (id !== undefined)
        assert.equal((results[at] as { functionResponse: Json }).functionResponse["id"], id);
    }
  }
}

describe("a generateContent request with the engine's context", () => {
  it("contains exactly that context, keeps the live turn's bytes, and what the API checks", () => {
    let replaced = 0;
    let kept = 0;
    fc.assert(
      fc.property(
        fc.array(round, { minLength: 1, maxLength: 5 }),
        fc.nat(5),
        fc.constantFrom(undefined, "Know this."),
        (rounds, dropped, addition) => {
          const lists = rounds.map(elementsOf);
          // The live turn is still running: its last answer is not there yet.
          const live = lists.at(-1)?.slice(0, -1) ?? [];
          const list = [...lists.slice(0, -1).flat(), ...live];
          const systemInstruction = { parts: [{ text: "Be brief." }], role: "user" };
          const request = read(
            Buffer.from(JSON.stringify({ contents: list, systemInstruction }, undefined, 1)),
          );
          assert.equal(request.liveFrom, list.length - live.length);
          const cut = Math.min(dropped, rounds.length - 1);
          const written = lists
            .slice(0, -1)
            .map((elements) => messagesIn(read(Buffer.from(JSON.stringify({ contents: elements })))));
          const left = written
            .slice(cut)
            .flatMap((messages, at) =>
              rounds[cut + at]?.isTrimmed === true ? messages.map(trimmed) : messages,
            );
          const summary: AgentMessage[] =
            cut === 0 ? [] : [{ role: "user", content: [{ type: "text", text: "Earlier: much." }] }];
          const liveMessages = messagesIn({ items: request.items.slice(request.liveFrom) });
          // As the host does, with ids that are used once.
          const messages = repairPairs([...summary, ...left, ...liveMessages]);
          const context = {
            messages,
            historyCount: messages.length - liveMessages.length,
            ...(addition === undefined ? {} : { systemPromptAddition: addition }),
          };
          const spliced = splice(request, { context, isOriginal: () => false }, dialect);
          if (spliced.isReplaced) replaced += 1;
          kept += spliced.keptItems;
          const body = Buffer.concat(spliced.body);
          const again = read(body);
          assert.deepEqual(plain(messagesIn(again)), plain(messages));
          assert.equal(isValidSequence(repairPairs(messagesIn(again))), undefined);
          const { contents, systemInstruction: rules } = JSON.parse(body.toString()) as {
            contents: Element[];
            systemInstruction: Element;
          };
          checkApi(contents);
          const added = addition === undefined ? [] : [{ text: addition }];
          assert.deepEqual(rules.parts, [{ text: "Be brief." }, ...added]);
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
    assert.ok(kept > runs(500), `${kept} elements were kept`);
  });
});

/** Conversations in the four protocols with an engine's context in their place, checked by what a model reads in the new body. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { repairPairs } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage, ToolCallPart } from "../../../packages/contract/src/message.ts";
import { splice, type Spliced } from "../../../packages/gateway/src/splice/splice-request.ts";
import {
  bodyOf,
  contextPieces,
  elementsIn,
  elementsOf,
  pairFault,
  PROTOCOLS,
  unnamed,
  type Protocol,
} from "./harness-bodies.ts";
import { runs } from "../../runner/short-form.ts";

type IdScheme = "unique" | "again" | "same";

interface Step {
  text: string;
  calls: number;
}

interface Turn {
  words: string[];
  hasImage: boolean;
  steps: Step[];
  answer: string;
}

const WORDS = ["go on", "ok", "words"];
const turn = fc.record<Turn>({
  words: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 2 }),
  hasImage: fc.boolean(),
  steps: fc.array(fc.record({ text: fc.constantFrom("", ...WORDS), calls: fc.integer({ min: 1, max: 3 }) }), {
    maxLength: 3,
  }),
  answer: fc.constantFrom("yes", "no", "done"),
});

/** As in a transcript: with the server's ids, each message with its entry. */
function transcript(turns: readonly Turn[], ids: IdScheme): AgentMessage[][] {
  let entry = 0;
  let calls = 0;
  return turns.map(({ words, hasImage, steps, answer }, at) => {
    const list: AgentMessage[] = [];
    const image = hasImage ? [{ type: "image" as const, data: "iVBORw0KGgo=", mimeType: "image/png" }] : [];
    list.push({
      role: "user",
      content: [...words.map((text) => ({ type: "text" as const, text })), ...image],
    });
    for (const { text, calls: count } of steps) {
      const made = Array.from({ length: count }, (_, each): ToolCallPart => {
        calls += 1;
        const id = ids === "unique" ? `call_u${calls}` : ids === "again" ? `call_${each}` : "call_0";
        return { type: "toolCall", id, name: "look", arguments: { at: calls % 3 } };
      });
      list.push({
        role: "assistant",
        content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...made],
      });
      for (const { id } of made)
        list.push({
          role: "toolResult",
          toolCallId: id,
          toolName: "look",
          content: [{ type: "text", text: `seen ${list.length} in ${at}, at length` }],
          isError: false,
        });
    }
    // The live turn is still running: its last answer is not there yet.
    if (at < turns.length - 1) list.push({ role: "assistant", content: [{ type: "text", text: answer }] });
    return list.map((message) => ({ ...message, entryId: `e${entry++}` }));
  });
}

function sameContent(one: AgentMessage, other: AgentMessage | undefined): boolean {
  const idOf = (message: AgentMessage): string => (message.role === "toolResult" ? message.toolCallId : "");
  return (
    other !== undefined &&
    idOf(one) === idOf(other) &&
    JSON.stringify(one.content) === JSON.stringify(other.content)
  );
}

function trimmed(message: AgentMessage): AgentMessage {
  return message.role === "toolResult" ? { ...message, content: [{ type: "text", text: "cut" }] } : message;
}

interface Case {
  turns: Turn[];
  ids: IdScheme;
  /** Messages of the history that the engine has summarized, trimmed or evicted. */
  cut: number;
  trims: number[];
  evicts: number[];
  hasForeign: boolean;
  /** Messages of the live turn in the summary. */
  liveSummary: number;
  volatileAt: number;
  hasFragment: boolean;
  /** Offset of the request's start of the live turn. */
  shift: number;
  /** The harness wraps the input in text of its own. */
  isRewritten: boolean;
}

const anyCase = fc.record<Case>({
  turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
  ids: fc.constantFrom("unique", "again", "same"),
  cut: fc.nat(20),
  trims: fc.array(fc.nat(30), { maxLength: 3 }),
  evicts: fc.array(fc.nat(30), { maxLength: 3 }),
  hasForeign: fc.boolean(),
  liveSummary: fc.constantFrom(0, 0, 0, 2, 4),
  volatileAt: fc.constantFrom(-1, -1, 1, 3, 99),
  hasFragment: fc.boolean(),
  shift: fc.constantFrom(0, 0, 0, -1, 1),
  isRewritten: fc.boolean(),
});

function user(text: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

/** As the engine and the host build it from the transcript. */
function contextOf(
  turns: AgentMessage[][],
  sample: Case,
): { messages: AgentMessage[]; historyCount: number } {
  const history = turns.slice(0, -1).flat();
  const live = [...(turns.at(-1) ?? [])];
  const cut = sample.cut % (history.length + 1);
  const trims = new Set(sample.trims);
  const evicts = new Set(sample.evicts);
  const shown = history
    .map((message, at) => (trims.has(at) ? trimmed(message) : message))
    .filter((_, at) => at >= cut && !evicts.has(at));
  const head = [
    ...(cut > 0 ? [user("SUMMARY")] : []),
    ...(sample.hasForeign
      ? [user("go on"), { role: "assistant" as const, content: [{ type: "text" as const, text: "ok" }] }]
      : []),
  ];
  if (sample.liveSummary > 0 && live.length > sample.liveSummary)
    live.splice(1, sample.liveSummary, user("LIVE SUMMARY"));
  if (sample.volatileAt > 0) live.splice(Math.min(sample.volatileAt, live.length), 0, user("VOLATILE"));
  if (sample.hasFragment)
    head.push({
      ...user("FRAGMENT"),
      role: "user",
      fragment: { key: "k", kind: "untrusted" },
    } as AgentMessage);
  const [input] = live;
  const messages = repairPairs([...head, ...shown, ...live]);
  const historyCount = messages.findIndex((message) => message === input);
  return { messages, historyCount: historyCount < 0 ? messages.length : historyCount };
}

const REWRITTEN = "<prompt>go on</prompt>";

function rewritten(turns: AgentMessage[][]): AgentMessage[][] {
  const [, ...rest] = turns.at(-1) ?? [];
  return [...turns.slice(0, -1), [user(REWRITTEN), ...rest]];
}

function spliced(
  protocol: Protocol,
  sample: Case,
): {
  out: Spliced;
  body: Buffer;
  messages: AgentMessage[];
  turns: AgentMessage[][];
  liveElements: string;
} {
  const turns = transcript(sample.turns, sample.ids);
  const written = sample.isRewritten ? rewritten(turns) : turns;
  const elements = elementsOf(protocol, written.flat());
  const body = bodyOf(protocol, elements);
  const read = protocol.dialect.read(protocol.path, {}, body);
  const liveCount = elementsOf(protocol, written.at(-1) ?? []).length;
  const { messages, historyCount } = contextOf(turns, sample);
  const entries = new Map(turns.flat().map((message) => [message.entryId, message]));
  const shifted = Math.max(read.prefixCount, Math.min(read.items.length, read.liveFrom + sample.shift));
  const out = splice(
    { ...read, liveFrom: shifted },
    {
      context: { messages, historyCount },
      isOriginal: (message) => sameContent(message, entries.get(message.entryId)),
    },
    protocol.dialect,
  );
  const liveItems = read.items.slice(read.items.length - liveCount);
  const liveElements = body.toString("utf8", liveItems[0]?.start, liveItems.at(-1)?.end);
  return { out, body, messages, turns, liveElements };
}

for (const [name, protocol] of Object.entries(PROTOCOLS))
  describe(`a conversation in ${name}`, () => {
    it("shows the model the engine's messages in order, each once, with each call's result after it", () => {
      let replaced = 0;
      let kept = 0;
      fc.assert(
        fc.property(anyCase, (sample) => {
          const { out, body, messages } = spliced(protocol, { ...sample, shift: 0, isRewritten: false });
          const pieces = elementsIn(protocol, out.body).flatMap((element) => protocol.pieces(element));
          assert.equal(pairFault(pieces), undefined);
          assert.deepEqual(unnamed(pieces), unnamed(contextPieces(messages)));
          if (out.isReplaced) replaced += 1;
          else assert.equal(Buffer.concat(out.body).toString(), body.toString());
          kept += out.keptItems;
        }),
        { numRuns: runs(2_000), seed: 8 },
      );
      assert.ok(replaced > runs(2_000) / 4 && kept > runs(2_000), `${replaced} replaced, ${kept} kept`);
    });

    it("keeps each element unchanged or encodes it as a whole", () => {
      fc.assert(
        fc.property(anyCase, (sample) => {
          const { out, body } = spliced(protocol, { ...sample, shift: 0, isRewritten: false });
          const { items } = protocol.dialect.read(protocol.path, {}, body);
          const written = new Set(items.map(({ start, end }) => body.toString("utf8", start, end)));
          const after = Buffer.concat(out.body);
          for (const { start, end } of protocol.dialect.read(protocol.path, {}, after).items) {
            const text = after.toString("utf8", start, end);
            assert.ok(written.has(text) || text === JSON.stringify(JSON.parse(text)), text);
          }
        }),
        { numRuns: runs(500), seed: 8 },
      );
    });

    it("keeps the live turn's bytes in one piece if the engine adds nothing to it", () => {
      fc.assert(
        fc.property(anyCase, (sample) => {
          const plain = { ...sample, shift: 0, liveSummary: 0, volatileAt: -1 };
          const { out, liveElements } = spliced(protocol, plain);
          assert.ok(Buffer.concat(out.body).toString().includes(liveElements));
        }),
        { numRuns: runs(1_000), seed: 8 },
      );
    });

    it("loses nothing and breaks no pair if the live turn begins an element too early or too late", () => {
      fc.assert(
        fc.property(anyCase, (sample) => {
          const { out, messages } = spliced(protocol, { ...sample, isRewritten: false });
          const pieces = elementsIn(protocol, out.body).flatMap((element) => protocol.pieces(element));
          assert.equal(pairFault(pieces), undefined);
          const list = unnamed(pieces).map((piece) => JSON.stringify(piece));
          for (const piece of unnamed(contextPieces(messages)).map((each) => JSON.stringify(each))) {
            const at = list.indexOf(piece);
            assert.ok(at >= 0, piece);
            list.splice(at, 1);
          }
          assert.ok(list.length <= 3, `${list.length} pieces more`);
        }),
        { numRuns: runs(2_000), seed: 8 },
      );
    });

    it("contains the live input in any form of the harness and with engine messages anywhere in the turn", () => {
      fc.assert(
        fc.property(anyCase, (sample) => {
          const { out, turns } = spliced(protocol, { ...sample, shift: 0, isRewritten: true });
          const pieces = elementsIn(protocol, out.body).flatMap((element) => protocol.pieces(element));
          assert.equal(pairFault(pieces), undefined);
          const [input] = turns.at(-1) ?? assert.fail("no live turn");
          assert.ok(input);
          const own = JSON.stringify([["user", REWRITTEN]]).slice(1, -1);
          const unchanged = JSON.stringify(contextPieces([input])).slice(1, -1);
          const text = JSON.stringify(pieces);
          assert.ok(text.includes(own) || text.includes(unchanged), "the input is lost");
        }),
        { numRuns: runs(1_000), seed: 8 },
      );
    });
  });

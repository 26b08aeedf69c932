/** Conversations in the three protocols with an engine's context in their place, judged by what a model reads in the new body. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { repairPairs } from "../../../../src/compaction/pairing.ts";
import type { AgentMessage, ToolCallPart } from "../../../../src/contract/message.ts";
import { splice, type Spliced } from "../../../../src/gateway/wire/splice/splice.ts";
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

/** As a transcript has it: ids as the server gave them, each message with its entry. */
function transcript(turns: readonly Turn[], ids: IdScheme): AgentMessage[][] {
  let entry = 0;
  let calls = 0;
  return turns.map(({ words, hasImage, steps, answer }, at) => {
    const said: AgentMessage[] = [];
    const image = hasImage ? [{ type: "image" as const, data: "iVBORw0KGgo=", mimeType: "image/png" }] : [];
    said.push({
      role: "user",
      content: [...words.map((text) => ({ type: "text" as const, text })), ...image],
    });
    for (const { text, calls: count } of steps) {
      const made = Array.from({ length: count }, (_, each): ToolCallPart => {
        calls += 1;
        const id = ids === "unique" ? `call_u${calls}` : ids === "again" ? `call_${each}` : "call_0";
        return { type: "toolCall", id, name: "look", arguments: { at: calls % 3 } };
      });
      said.push({
        role: "assistant",
        content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...made],
      });
      for (const { id } of made)
        said.push({
          role: "toolResult",
          toolCallId: id,
          toolName: "look",
          content: [{ type: "text", text: `seen ${said.length} in ${at}, at length` }],
          isError: false,
        });
    }
    // The live turn goes on: its last answer is not there yet.
    if (at < turns.length - 1) said.push({ role: "assistant", content: [{ type: "text", text: answer }] });
    return said.map((message) => ({ ...message, entryId: `e${entry++}` }));
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
  /** Messages of the history that the engine has summarized, trimmed, evicted. */
  cut: number;
  trims: number[];
  evicts: number[];
  hasForeign: boolean;
  /** In the live turn. */
  liveSummary: number;
  volatileAt: number;
  hasFragment: boolean;
  /** Added to where the request takes the live turn to begin. */
  shift: number;
  /** The harness puts words of its own around the input. */
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

/** As an engine and the host make it of the transcript. */
function contextOf(turns: AgentMessage[][], given: Case): { messages: AgentMessage[]; historyCount: number } {
  const history = turns.slice(0, -1).flat();
  const live = [...(turns.at(-1) ?? [])];
  const cut = given.cut % (history.length + 1);
  const trims = new Set(given.trims);
  const evicts = new Set(given.evicts);
  const shown = history
    .map((message, at) => (trims.has(at) ? trimmed(message) : message))
    .filter((_, at) => at >= cut && !evicts.has(at));
  const head = [
    ...(cut > 0 ? [user("SUMMARY")] : []),
    ...(given.hasForeign
      ? [user("go on"), { role: "assistant" as const, content: [{ type: "text" as const, text: "ok" }] }]
      : []),
  ];
  if (given.liveSummary > 0 && live.length > given.liveSummary)
    live.splice(1, given.liveSummary, user("LIVE SUMMARY"));
  if (given.volatileAt > 0) live.splice(Math.min(given.volatileAt, live.length), 0, user("VOLATILE"));
  if (given.hasFragment)
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
  given: Case,
): {
  out: Spliced;
  body: Buffer;
  messages: AgentMessage[];
  turns: AgentMessage[][];
  liveElements: string;
} {
  const turns = transcript(given.turns, given.ids);
  const written = given.isRewritten ? rewritten(turns) : turns;
  const elements = elementsOf(protocol, written.flat());
  const body = bodyOf(protocol, elements);
  const read = protocol.dialect.read(protocol.path, {}, body);
  const liveCount = elementsOf(protocol, written.at(-1) ?? []).length;
  const { messages, historyCount } = contextOf(turns, given);
  const entries = new Map(turns.flat().map((message) => [message.entryId, message]));
  const shifted = Math.max(read.prefixCount, Math.min(read.items.length, read.liveFrom + given.shift));
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
    it("shows the model the engine's messages in order, each once, with each call's result behind it", () => {
      let replaced = 0;
      let kept = 0;
      fc.assert(
        fc.property(anyCase, (given) => {
          const { out, body, messages } = spliced(protocol, { ...given, shift: 0, isRewritten: false });
          const pieces = elementsIn(protocol, out.body).flatMap((element) => protocol.pieces(element));
          assert.equal(pairFault(pieces), undefined);
          assert.deepEqual(unnamed(pieces), unnamed(contextPieces(messages)));
          if (out.isReplaced) replaced += 1;
          else assert.equal(Buffer.concat(out.body).toString(), body.toString());
          kept += out.keptItems;
        }),
        { numRuns: 2_000, seed: 8 },
      );
      assert.ok(replaced > 500 && kept > 2_000, `${replaced} replaced, ${kept} kept`);
    });

    it("keeps each element as it was written or says it anew as a whole", () => {
      fc.assert(
        fc.property(anyCase, (given) => {
          const { out, body } = spliced(protocol, { ...given, shift: 0, isRewritten: false });
          const { items } = protocol.dialect.read(protocol.path, {}, body);
          const written = new Set(items.map(({ start, end }) => body.toString("utf8", start, end)));
          const after = Buffer.concat(out.body);
          for (const { start, end } of protocol.dialect.read(protocol.path, {}, after).items) {
            const text = after.toString("utf8", start, end);
            assert.ok(written.has(text) || text === JSON.stringify(JSON.parse(text)), text);
          }
        }),
        { numRuns: 500, seed: 8 },
      );
    });

    it("keeps the live turn's bytes in one piece where the engine has nothing to say in it", () => {
      fc.assert(
        fc.property(anyCase, (given) => {
          const plain = { ...given, shift: 0, liveSummary: 0, volatileAt: -1 };
          const { out, liveElements } = spliced(protocol, plain);
          assert.ok(Buffer.concat(out.body).toString().includes(liveElements));
        }),
        { numRuns: 1_000, seed: 8 },
      );
    });

    it("loses nothing and breaks no pair where the live turn is taken to begin an element too early or too late", () => {
      fc.assert(
        fc.property(anyCase, (given) => {
          const { out, messages } = spliced(protocol, { ...given, isRewritten: false });
          const pieces = elementsIn(protocol, out.body).flatMap((element) => protocol.pieces(element));
          assert.equal(pairFault(pieces), undefined);
          const said = unnamed(pieces).map((piece) => JSON.stringify(piece));
          for (const piece of unnamed(contextPieces(messages)).map((each) => JSON.stringify(each))) {
            const at = said.indexOf(piece);
            assert.ok(at >= 0, piece);
            said.splice(at, 1);
          }
          assert.ok(said.length <= 3, `${said.length} pieces more`);
        }),
        { numRuns: 2_000, seed: 8 },
      );
    });

    it("says the live input whatever the harness has made of it and wherever the engine speaks in the turn", () => {
      fc.assert(
        fc.property(anyCase, (given) => {
          const { out, turns } = spliced(protocol, { ...given, shift: 0, isRewritten: true });
          const pieces = elementsIn(protocol, out.body).flatMap((element) => protocol.pieces(element));
          assert.equal(pairFault(pieces), undefined);
          const [input] = turns.at(-1) ?? assert.fail("no live turn");
          assert.ok(input);
          const own = JSON.stringify([["user", REWRITTEN]]).slice(1, -1);
          const told = JSON.stringify(contextPieces([input])).slice(1, -1);
          const text = JSON.stringify(pieces);
          assert.ok(text.includes(own) || text.includes(told), "the input is lost");
        }),
        { numRuns: 1_000, seed: 8 },
      );
    });
  });

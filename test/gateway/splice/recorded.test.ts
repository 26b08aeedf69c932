/** Real requests of harnesses: a context equal to the request's keeps every byte of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { Dialect, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { generateContentDialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import { passing, splice } from "../../../packages/gateway/src/splice/splice-request.ts";
import { NAMES as GEMINI, readRecorded as readGemini } from "../dialect/generate-content-recorded.ts";
import { NAMES, readRecorded as readClaude } from "../dialect/messages-recorded.ts";
import { RECORDED, readRecorded as readCodex } from "../dialect/responses-recorded.ts";

interface Sample {
  name: string;
  request: WireRequest;
  dialect: Dialect;
}

const SAMPLES: Sample[] = [
  ...RECORDED.map((name) => ({ name, request: readCodex(name), dialect: responsesDialect })),
  ...NAMES.map((name) => ({ name, request: readClaude(name), dialect: messagesDialect })),
  ...GEMINI.map((name) => ({ name, request: readGemini(name), dialect: generateContentDialect })),
].filter(({ request }) => request.kind === "main");

function messagesIn({ items }: WireRequest, from: number, to: number): AgentMessage[] {
  return items.slice(from, to).flatMap(({ messages }) => [...messages]);
}

/** Messages as a transcript divides them: an answer is one, and thinking is not always stored. */
function asTranscript(messages: readonly AgentMessage[]): AgentMessage[] {
  const joined: AgentMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "assistant" && last?.role === "assistant")
      joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else joined.push(message);
  }
  return joined;
}

/** What a compaction of the harness's own has left at the beginning: the engine's context replaces it. */
function leading({ items, prefixCount, liveFrom }: WireRequest): number {
  const first = items.findIndex(({ kind }) => kind === "message");
  return items.slice(prefixCount, Math.min(first, liveFrom)).filter(({ isPassing }) => isPassing === true)
    .length;
}

describe("a recorded request", () => {
  it("is recorded in sufficient numbers", () => assert.ok(SAMPLES.length > 25, `${SAMPLES.length}`));

  for (const { name, request, dialect } of SAMPLES)
    it(`"${name}" stays unchanged if the engine's context is equal`, () => {
      const { items, liveFrom } = request;
      for (const form of [(all: AgentMessage[]) => all, asTranscript]) {
        const history = form(messagesIn(request, 0, liveFrom));
        const messages = [...history, ...form(messagesIn(request, liveFrom, items.length))];
        const context = { messages, historyCount: history.length };
        const { body, ...facts } = splice(request, { context, isOriginal: () => false }, dialect);
        const summaries = leading(request);
        assert.deepEqual(facts, {
          isReplaced: summaries > 0,
          keptItems: items.length - request.prefixCount - summaries,
          droppedItems: summaries,
          encodedMessages: 0,
        });
        if (summaries === 0)
          assert.equal(Buffer.concat(body).toString(), Buffer.concat(passing(request)).toString());
      }
    });
});

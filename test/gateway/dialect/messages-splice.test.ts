/** Recorded requests with their older part replaced by an engine's context: the API's rules hold, and kept elements are unchanged. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { splice } from "../../../packages/gateway/src/splice/splice-request.ts";
import { NAMES, readRecorded, type Json } from "./messages-recorded.ts";

const MAIN = NAMES.filter((name) => readRecorded(name).kind === "main");

function messagesIn({ items }: WireRequest, from: number, to: number): AgentMessage[] {
  return items.slice(from, to).flatMap(({ messages }) => [...messages]);
}

/** The elements of the new request, each with its bytes. */
function spliced(
  request: WireRequest,
  history: readonly AgentMessage[],
  live: readonly AgentMessage[],
  addition?: string,
): { elements: Json[]; bytes: string } {
  const context = {
    messages: [...history, ...live],
    historyCount: history.length,
    ...(addition === undefined ? {} : { systemPromptAddition: addition }),
  };
  const made = splice(request, { context, isOriginal: (message) => live.includes(message) }, messagesDialect);
  const bytes = Buffer.concat(made.body).toString("utf8");
  return { elements: (JSON.parse(bytes) as { messages: Json[] }).messages, bytes };
}

function blocks(element: Json | undefined): Json[] {
  const content = element?.["content"];
  return Array.isArray(content) ? (content as Json[]) : [];
}

function checkApi(elements: readonly Json[], name: string): void {
  const spoken = elements.filter(({ role }) => role !== "system");
  assert.equal(elements[0]?.["role"], "user", `${name}: begins with the user`);
  const used = new Set<unknown>();
  // The API merges consecutive elements of one role.
  const joined: { role: unknown; content: Json[] }[] = [];
  for (const element of spoken) {
    const last = joined.at(-1);
    if (last?.role === element["role"]) last?.content.push(...blocks(element));
    else joined.push({ role: element["role"], content: [...blocks(element)] });
  }
  for (const [index, { content }] of joined.entries()) {
    const calls = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    const results = (joined[index + 1]?.content ?? []).filter(({ type }) => type === "tool_result");
    const answered = results.map((block) => block["tool_use_id"]);
    assert.equal(answered.length, calls.length, `${name}: pairs`);
    assert.deepEqual(new Set(answered), new Set(calls), `${name}: pairs`);
    for (const id of calls) assert.ok(!used.has(id), `${name}: ids`);
    for (const id of calls) used.add(id);
  }
  const marks = JSON.stringify(elements).split('"cache_control"').length - 1;
  assert.ok(marks <= 2, `${name}: with two in the system prompt no more than four marks`);
}

describe("The engine's context in a recorded request", () => {
  for (const name of MAIN)
    it(`"${name}": a summary of what came before the live turn keeps its bytes and the API's rules`, () => {
      const request = readRecorded(name);
      const { items, liveFrom, body } = request;
      const live = messagesIn(request, liveFrom, items.length);
      const summary: AgentMessage = { role: "user", content: "Earlier, the harbour was looked at." };
      for (const history of [[summary], [summary, ...messagesIn(request, 0, liveFrom).slice(-1)]]) {
        if (history.at(-1)?.role === "toolResult") continue;
        const { elements, bytes } = spliced(request, history, live, "Be brief.");
        checkApi(elements, name);
        for (const { start, end } of items.slice(liveFrom))
          assert.ok(bytes.includes(body.toString("utf8", start, end)));
        assert.equal(bytes.split("Earlier, the harbour").length - 1, 1);
        assert.equal(bytes.split("Be brief.").length - 1, 1);
      }
    });

  for (const name of MAIN)
    it(`"${name}": a context equal to the harness's keeps every byte of the messages`, () => {
      const request = readRecorded(name);
      const { items, liveFrom } = request;
      const { bytes } = spliced(
        request,
        messagesIn(request, 0, liveFrom),
        messagesIn(request, liveFrom, items.length),
      );
      for (const item of items)
        if (item.kind === "message")
          assert.ok(bytes.includes(request.body.toString("utf8", item.start, item.end)));
    });
});

describe("a round that the transcript has in another order of text and calls", () => {
  const text = (words: string) => ({ type: "text" as const, text: words });
  const call = (id: string) => ({ type: "toolCall" as const, id, name: "t", arguments: {} });
  const result = (id: string): AgentMessage => ({
    role: "toolResult",
    toolCallId: id,
    toolName: "t",
    content: [text(`of ${id}`)],
    isError: false,
  });
  const roundOf = (round: number, isParted: boolean): AgentMessage[] => {
    const [one, other] = [call(`${round}a`), call(`${round}b`)];
    const content = isParted
      ? [text(`look ${round}`), one, text(" and more"), other]
      : [text(`look ${round} and more`), one, other];
    return [{ role: "assistant", content }, result(`${round}a`), result(`${round}b`)];
  };
  const native = (round: number): object[] => [
    {
      role: "assistant",
      content: [
        text(`look ${round} and more`),
        ...["a", "b"].map((name) => ({ type: "tool_use", id: `${round}${name}`, name: "t", input: {} })),
      ],
    },
    {
      role: "user",
      content: ["a", "b"].map((name) => ({
        type: "tool_result",
        tool_use_id: `${round}${name}`,
        content: [text(`of ${round}${name}`)],
      })),
    },
  ];

  for (const parted of [[12], [12, 13], [12, 13, 14]])
    it(`has each result, if rounds ${parted.join(" and ")} come first after a summary`, () => {
      const messages = [{ role: "user", content: [text("go")] }, ...[11, 12, 13, 14].flatMap(native)];
      const body = Buffer.from(JSON.stringify({ model: "m", max_tokens: 1, messages }));
      const request = messagesDialect.read("/messages", {}, body);
      const live: AgentMessage[] = [
        { role: "user", content: [text("go")] },
        ...[12, 13, 14].flatMap((round) => roundOf(round, parted.includes(round))),
      ];
      const summary: AgentMessage = { role: "user", content: "What was before." };
      const spliced = splice(
        request,
        {
          context: { messages: [...live.slice(0, 1), summary, ...live.slice(1)], historyCount: 0 },
          isOriginal: (message) => live.includes(message),
        },
        messagesDialect,
      );
      const sent = Buffer.concat(spliced.body).toString();
      for (const round of [12, 13, 14])
        for (const name of ["a", "b"])
          assert.equal(sent.split(`"of ${round}${name}"`).length, 2, `the result of ${round}${name}`);
      assert.ok(!sent.includes("of 11a") && !sent.includes("No result"));
    });
});

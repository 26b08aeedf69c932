/** A harness's own additions to its requests, and their count for the turn. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WireTurn } from "../../packages/contract/src/harness/wire.ts";
import { completionsDialect } from "../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import type { WireItem, WireRequest } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import { messagesDialect } from "../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { FixedPart } from "../../packages/gateway/src/request/fixed.ts";
import { TurnGovernor } from "../../packages/gateway/src/governor/turn-governor.ts";

const CALL = { request: 0, signal: new AbortController().signal };
const RULES = "Look after the berths of the harbour, and write down who has come and gone. ";
/** Counts are multiples of this. */
const STEP = 256;

function completions(rules: number, texts: readonly string[]): WireRequest {
  const system = { role: "system", content: RULES.repeat(rules) };
  const messages = texts.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
  const body = Buffer.from(JSON.stringify({ model: "m", messages: [system, ...messages], tools: [] }));
  return completionsDialect.read("/chat/completions", {}, body);
}

function tokensOf(request: WireRequest): number {
  return new FixedPart().tokensOf(request);
}

type Asked = Parameters<WireTurn["assemble"]>[0];

function governed(): { governor: TurnGovernor; asked: Asked[]; turn: () => WireTurn } {
  const asked: Asked[] = [];
  const governor = new TurnGovernor({
    sessionKey: "main",
    runtime: "test",
    resolve: () => assert.fail("not asked"),
    upstreamFor: () => assert.fail("not asked"),
  });
  const turn = (): WireTurn => {
    const made: Partial<WireTurn> = {
      turnId: "t1",
      model: { ref: "local/m" } as WireTurn["model"],
      engine: { id: "e", governs: true, ownsCompaction: false },
      assemble: (request) => {
        asked.push(request);
        return Promise.resolve({ system: "", messages: [], historyCount: 0, estimatedTokens: 0 });
      },
      messages: () => [],
    };
    return made as WireTurn;
  };
  return { governor, asked, turn };
}

describe("a turn's governor", () => {
  it("passes the harness's additions with each request, also when the provider has refused one", async () => {
    const { governor, asked, turn } = governed();
    governor.serve(turn());
    const request = completions(100, ["Hello."]);
    await governor.main(request, CALL);
    await governor.main(request, { ...CALL, overflow: { message: "too long" } });
    const fixedTokens = tokensOf(request);
    assert.ok(fixedTokens > 1_000, String(fixedTokens));
    assert.deepEqual(asked, [{ fixedTokens }, { fixedTokens, overflow: { message: "too long" } }]);
  });

  it("raises the count within a turn, never lowers it, and measures the next turn again", async () => {
    const { governor, asked, turn } = governed();
    governor.serve(turn());
    for (const rules of [50, 100, 50]) await governor.main(completions(rules, ["Hello."]), CALL);
    governor.serve(undefined);
    governor.serve(turn());
    await governor.main(completions(50, ["Hello."]), CALL);
    const [small, large] = [50, 100].map((rules) => tokensOf(completions(rules, ["Hello."])));
    assert.deepEqual(
      asked.map((request) => request?.fixedTokens),
      [small, large, large, small],
    );
  });
});

describe("the count of a harness's additions", () => {
  it("does not depend on the messages, or on the order in which requests are measured", () => {
    const part = new FixedPart();
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 60 }),
        fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 }),
        (rules, messages) => {
          const tokens = part.tokensOf(completions(rules, messages));
          assert.equal(tokens, tokensOf(completions(rules, ["Hello."])));
          assert.equal(tokens % STEP, 0);
        },
      ),
    );
  });

  it("grows with its rules and its tools", () => {
    const small = completions(20, ["Hello."]);
    const text = small.body.toString().replace('"tools":[]', `"tools":[{"name":"${RULES.repeat(40)}"}]`);
    const tooled = completionsDialect.read("/chat/completions", {}, Buffer.from(text));
    const sizes = [small, completions(40, ["Hello."]), tooled].map(tokensOf);
    assert.ok((sizes[1] ?? 0) - (sizes[0] ?? 0) > 200, sizes.join(" "));
    assert.ok((sizes[2] ?? 0) - (sizes[0] ?? 0) > 400, sizes.join(" "));
  });

  it("includes surroundings wherever they are, and passing settings only while they are new", () => {
    const reminder = (words: string): string =>
      `<system-reminder>\n${words}${RULES.repeat(60)}\n</system-reminder>`;
    const project = reminder("As you answer the user's questions, you can use the following context:\n");
    const moment = reminder("The task tools haven't been used recently. ");
    const ask = (...messages: { role: string; content: unknown }[]): WireRequest =>
      messagesDialect.read(
        "/v1/messages",
        { "user-agent": "claude-cli/2.1.330" },
        Buffer.from(
          JSON.stringify({ model: "m", max_tokens: 9, messages: messages, tools: [{ name: "Bash" }] }),
        ),
      );
    const answer = { role: "assistant", content: "Good." };
    const user = (...texts: string[]): { role: string; content: unknown } => ({
      role: "user",
      content: texts.map((text) => ({ type: "text", text })),
    });
    const plain = tokensOf(ask(user("One."), answer, user("Two.")));
    assert.ok(tokensOf(ask(user(project, "One."), answer, user("Two."))) > plain + 800);
    assert.equal(tokensOf(ask(user("One."), user(moment), answer, user("Two."))), plain);
    assert.ok(tokensOf(ask(user("One."), answer, user("Two."), user(moment))) > plain + 800);
  });

  it("includes everything but the conversation of a request of Claude Code", () => {
    const file = join(import.meta.dirname, "recorded/claude-code-2.1.330/tool-results.http");
    const text = readFileSync(file, "utf8");
    const body = Buffer.from(text.slice(text.indexOf("{")));
    const request = messagesDialect.read("/v1/messages", {}, body);
    const messages = (items: readonly WireItem[]): number =>
      items.reduce((sum, { start, end }) => sum + end - start, 0);
    const own = body.length - messages(request.items);
    const tokens = tokensOf(request);
    assert.ok(tokens > own / 8 && tokens < body.length / 2, `${tokens} of ${own}`);
  });
});

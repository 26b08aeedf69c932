/** Compactions of a harness by its provider, through a route. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { WireRequest } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { Governed, Governor } from "../../packages/gateway/src/governor/governor.ts";
import { recorded as recordedClaude } from "./dialect/messages-recorded.ts";
import { recorded as recordedGemini } from "./dialect/generate-content-recorded.ts";
import { recorded as recordedCodex } from "./dialect/responses-recorded.ts";
import { sealed } from "../../packages/gateway/src/dialect/sealed-summary.ts";
import { Bench, user, type Answer, type Seen } from "./exchange-bench.ts";
import { GENERATE_CONTENT, MESSAGES, RESPONSES, type Speech } from "./openings.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

interface Asked {
  speech: Speech;
  recorded: { headers: Record<string, unknown>; body: Buffer };
  list: "input" | "messages" | "contents";
}

const CASES: Asked[] = [
  { speech: RESPONSES, recorded: recordedCodex("compact-3"), list: "input" },
  { speech: MESSAGES, recorded: recordedClaude("compact-focus"), list: "messages" },
  { speech: GENERATE_CONTENT, recorded: recordedGemini("compact"), list: "contents" },
];

function governed(...messages: AgentMessage[]): Governed {
  return { context: { messages, historyCount: messages.length }, isOriginal: () => false };
}

const SUMMARY = "All that was, in a few words.";

describe("a compaction that the engine does not answer", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  for (const { speech, recorded, list } of CASES) {
    const { api, path, begins, says, ends, tooLong } = speech;
    const body = recorded.body.toString("utf8");
    const whole = [...begins, ...says, ...ends].join("");
    const done: Answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(whole);
    };
    const ask = (): Promise<Response> => {
      const own = Object.entries(recorded.headers).filter(
        ([name]) => name.startsWith("x-c") || name === "user-agent",
      );
      return bench.ask(body, { path, headers: Object.fromEntries(own) as Record<string, string> });
    };
    const listOf = (text: string): unknown[] => (JSON.parse(text) as Record<string, unknown[]>)[list] ?? [];
    const compacted: Governor["compacted"] = (_request, answer) =>
      void bench.calls.push(`compacted ${answer.isComplete}`);

    it(`goes upstream with the engine's context and the compaction prompt: ${api}`, async () => {
      bench = new Bench(api);
      const kinds: string[] = [];
      const main: Governor["main"] = async ({ kind, items, liveFrom }) => {
        kinds.push(kind);
        assert.equal(liveFrom, items.length, "nothing of it is new");
        return governed(user(SUMMARY));
      };
      await bench.open({ main, compacted }, done);
      assert.equal(await (await ask()).text(), whole);
      const sent = bench.seen[0]?.body ?? "";
      assert.ok(sent.includes(SUMMARY) && sent.length < body.length);
      assert.deepEqual(listOf(sent).at(-1), listOf(body).at(-1));
      const end = body.slice(body.indexOf(`"${list}":`), body.length);
      assert.ok(end.includes(JSON.stringify(listOf(sent).at(-1))), "byte for byte");
      await until(() => bench.calls.length === 1);
      assert.deepEqual(bench.calls, ["compacted true"], "it is no request of the conversation");
      assert.deepEqual(kinds, ["compaction"]);
      assert.deepEqual(bench.facts, [
        { request: 0, kind: "compaction", answeredBy: "upstream", isReplaced: true },
      ]);
    });

    it(`is made smaller by the engine if the provider refuses it: ${api}`, async () => {
      bench = new Bench(api);
      const asked: (string | undefined)[] = [];
      const main: Governor["main"] = async (_request, { overflow }) => {
        asked.push(overflow?.message);
        return governed(user(overflow ? "SHORT" : SUMMARY));
      };
      const refused: Answer = (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end([...begins, tooLong].join(""));
      };
      await bench.open({ main, compacted }, refused, done);
      assert.equal(await (await ask()).text(), whole);
      assert.deepEqual(
        bench.seen.map(({ body: sent }) => [sent.includes(SUMMARY), sent.includes("SHORT")]),
        [
          [true, false],
          [false, true],
        ],
      );
      assert.equal(asked.length, 2);
      assert.ok(asked[1]);
      await until(() => bench.calls.length === 1);
      assert.deepEqual(bench.calls, ["compacted true"], "of both answers one is a compaction");
    });

    const whyNot: [string, Governor["main"]][] = [
      ["governs nothing", async () => undefined],
      ["says nothing", async () => governed()],
      ["fails", () => Promise.reject(new PagurusError("context_overflow", "It is too long; send less."))],
    ];
    for (const [what, main] of whyNot)
      it(`passes unchanged if the engine ${what}: ${api}`, async () => {
        bench = new Bench(api);
        await bench.open({ main, compacted }, done);
        assert.equal(await (await ask()).text(), whole);
        assert.deepEqual(
          bench.seen.map(({ body: sent }: Seen) => sent),
          [body],
        );
        await until(() => bench.calls.length === 1);
      });

    it(`needs no context if the engine answers it, or all requests pass: ${api}`, async () => {
      bench = new Bench(api);
      const main = (): never => assert.fail("asked");
      await bench.open({ main, compaction: async () => ({ summary: "What was." }) }, done);
      assert.match(await (await ask()).text(), /What was\./);
      assert.equal(bench.seen.length, 0);
      await bench.end();
      bench = new Bench(api);
      await bench.open({ main, compaction: main, passes: true }, done);
      assert.equal(await (await ask()).text(), whole);
      assert.equal(bench.seen[0]?.body, body);
    });
  }

  it("that the gateway made before is text at the provider, also where all requests pass", async () => {
    bench = new Bench("openai-responses");
    await bench.open({ passes: true });
    const request = (encrypted: string): string =>
      JSON.stringify({
        model: "m",
        input: [
          { type: "compaction", encrypted_content: encrypted },
          { type: "message", role: "user", content: [{ type: "input_text", text: "two" }] },
        ],
      });
    const own = request(sealed({ summary: "What was." }));
    await (await bench.ask(own, { path: "/responses" })).text();
    assert.match(bench.seen[0]?.body ?? "", /What was\./);
    assert.doesNotMatch(bench.seen[0]?.body ?? "", /encrypted_content/);
    const other = request("gAAAA");
    await (await bench.ask(other, { path: "/responses" })).text();
    assert.equal(bench.seen[1]?.body, other);
    await until(() => bench.facts.length === 2);
    assert.deepEqual(
      bench.facts.map(({ kind }) => kind),
      ["main", "main"],
    );
  });

  it("is repeated by the gateway if the harness then asks to check it, and no other summary is", async () => {
    bench = new Bench("google-generative-ai");
    await bench.open({ compaction: async () => ({ summary: SUMMARY }) });
    const ask = (name: string, change: (text: string) => string = (text) => text): Promise<Response> => {
      const { path, headers, body } = recordedGemini(name);
      const agent = { "user-agent": String(headers["user-agent"]) };
      return bench.ask(change(body.toString("utf8")), { path, headers: agent });
    };
    const textOf = async (response: Response): Promise<unknown> => {
      const { candidates } = (await response.json()) as {
        candidates: { content: { parts: { text: string }[] } }[];
      };
      return candidates[0]?.content.parts[0]?.text;
    };
    await (await ask("compact-check")).text();
    assert.equal(bench.seen.length, 1, "another's summary is checked by the model");
    const made = await textOf(await ask("compact"));
    assert.match(String(made), /^<state_snapshot>\nAll that was, in a few words\.\n<\/state_snapshot>$/);
    const { contents } = JSON.parse(recordedGemini("compact-check").body.toString()) as {
      contents: { parts: { text: string }[] }[];
    };
    const theirs = JSON.stringify(contents.at(-2)?.parts[0]?.text);
    const checked = await ask("compact-check", (text) => text.replace(theirs, () => JSON.stringify(made)));
    assert.equal(await textOf(checked), made);
    assert.equal(bench.seen.length, 1);
    assert.deepEqual(bench.facts.at(-1), {
      request: 2,
      kind: "side",
      answeredBy: "engine",
      isReplaced: false,
    });
  });

  it("sends nothing for a harness that disconnected while the engine was asked", async () => {
    bench = new Bench("anthropic-messages");
    const leave = new AbortController();
    const seen: WireRequest[] = [];
    await bench.open({
      main: async (request) => {
        seen.push(request);
        leave.abort();
        await turns();
        throw new PagurusError("turn_aborted", "The turn was stopped; ask again.");
      },
    });
    const { headers: _headers, body } = recordedClaude("compact-focus");
    const asked = bench.ask(body.toString("utf8"), { path: "/messages", signal: leave.signal });
    await assert.rejects(asked);
    await until(() => bench.facts.length === 1);
    assert.equal(seen.length, 1);
    assert.equal(bench.seen.length, 0);
  });
});

describe("a request that its provider would compact before it answers", () => {
  const edits = [
    {
      type: "compact_20260112",
      trigger: { type: "input_tokens", value: 10 },
      pause_after_compaction: true,
    },
  ];
  const body = JSON.stringify({
    model: "claude-opus-5-5",
    max_tokens: 500,
    context_management: { edits },
    messages: ["one", "two"].map((text) => ({ role: "user", content: `Berth ${text} of the harbour?` })),
  });
  const answers: Answer = (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const content = [{ type: "text", text: "Free." }];
    response.end(JSON.stringify({ type: "message", content, stop_reason: "end_turn" }));
  };
  let bench: Bench;
  afterEach(() => bench.end());

  it("is answered with the engine's summary as a block, without the provider", async () => {
    bench = new Bench("anthropic-messages");
    const compaction: Governor["compaction"] = async () => ({ summary: SUMMARY });
    await bench.open({ compaction }, answers);
    const answer = (await (await bench.ask(body, { path: "/messages" })).json()) as Record<string, unknown>;
    assert.equal(answer["stop_reason"], "compaction");
    assert.match(JSON.stringify(answer["content"]), /"content":"All that was, in a few words\."/);
    assert.deepEqual(bench.seen, []);
  });

  it("is a request of the conversation if the engine makes no summary", async () => {
    bench = new Bench("anthropic-messages");
    const main: Governor["main"] = async ({ kind, compaction }) => {
      assert.deepEqual([kind, compaction], ["main", undefined]);
      return governed(user(SUMMARY), user("Berth two of the harbour?"));
    };
    await bench.open({ main }, answers);
    const answer = await (await bench.ask(body, { path: "/messages" })).text();
    assert.match(answer, /Free\./);
    assert.match(bench.seen[0]?.body ?? "", /All that was/);
    assert.deepEqual(bench.calls, ["sent 0", "answered 0"], "it is recorded");
  });
});

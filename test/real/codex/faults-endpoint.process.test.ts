/** Endpoint faults under the real Codex: one clear sentence with its code, retries reported, the session continues. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { ErrorCode } from "../../../packages/contract/src/errors.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { conversation } from "./codex-bench.ts";
import { failedWith, FaultBench, type Expected } from "./fault-bench.ts";
import { until } from "../../runner/until.ts";

interface Case {
  what: string;
  /** Absent: nothing listens at the address. */
  step?: ReplyStep;
  code: ErrorCode;
  /** Codex's own code as the sentence shows it, and the endpoint's message. */
  words: RegExp;
  retries: boolean;
  /** Lines of this turn in the next turn's request, its prompt first; absent where nothing had answered. */
  keeps?: Expected[];
}

const PAGE =
  "<html><head><title>Sign in</title><style>b { color: red }</style></head><body><h1>Please sign in</h1></body></html>";
const HALF = "Half of it is said.";

const CASES: Case[] = [
  {
    what: "500",
    step: { status: 500 },
    code: "model_unavailable",
    words: /\(internalServerError\): .* The conversation is kept; check the network/,
    retries: true,
  },
  {
    what: "502 with a page",
    step: { status: 502, errorBody: PAGE, headers: { "content-type": "text/html" } },
    code: "model_unavailable",
    words: /HTTP 502\): .* Please sign in/,
    retries: true,
  },
  {
    what: "no response, since nothing listens there,",
    code: "model_unavailable",
    words: /\(responseStreamDisconnected\): the endpoint cannot be reached \(.*check the network/,
    retries: true,
  },
  {
    what: "429",
    step: { status: 429 },
    code: "model_rate_limited",
    words: /\(responseTooManyFailedAttempts, HTTP 429\).*wait a while/,
    retries: false,
  },
  {
    what: "429 for a quota that is used up",
    step: {
      status: 429,
      errorBody: { error: { code: "insufficient_quota", type: "insufficient_quota", message: "Used up." } },
    },
    code: "model_rate_limited",
    words: /\(usageLimitExceeded\).*wait a while or choose another model/,
    retries: false,
  },
  {
    what: "401",
    step: { status: 401 },
    code: "model_auth",
    words: /HTTP 401.*check the key of its provider/,
    retries: true,
  },
  {
    what: "400",
    step: { status: 400 },
    code: "model_bad_request",
    words: /\(other\): scripted status 400\. /,
    retries: false,
  },
  {
    what: "a stream that is cut",
    step: { text: HALF, cutAfterChunks: 6, chunkSize: 5 },
    code: "model_stream_cut",
    words: /\(other\): stream disconnected/,
    retries: true,
    keeps: [/^user: Go on/, "assistant: Half of it"],
  },
  {
    what: "a page with status 200",
    step: { page: PAGE },
    code: "model_stream_cut",
    words: /\(other\): stream disconnected/,
    retries: true,
  },
];

function retriesOf(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) => (event.type === "model.retry" ? [event.reason] : []));
}

/** A model of a provider at whose address nothing listens. */
const NOWHERE = "nowhere/unknown-model";

describe("an endpoint that keeps answering", () => {
  let bench: FaultBench;
  let turns: Promise<TurnEvent[]>[];
  let pagurus: Pagurus;
  const begun = new Set<number>();

  /** Each in its own session, in parallel on one Codex. */
  before(async () => {
    bench = await FaultBench.with((request) => {
      const id = Number(/Begin (\d+)\./.exec(request.text)?.[1]);
      return begun.has(id) ? (CASES[id]?.step ?? {}) : { text: `Answer ${id}.` };
    });
    const config = bench.config() as { models: { providers: Record<string, object> } };
    const { providers } = config.models;
    providers["nowhere"] = { ...providers["local"], baseUrl: "http://127.0.0.1:9/v1" };
    pagurus = await bench.host({ more: { config } });
    turns = CASES.map(async ({ step }, id) => {
      const sessionKey = `case-${id}`;
      await bench.ask(pagurus, `Begin ${id}.`, { sessionKey });
      begun.add(id);
      const events = await bench.turn(pagurus, `Go on ${id}.`, () => undefined, {
        sessionKey,
        ...(step ? {} : { model: NOWHERE, runtime: "codex" }),
      });
      begun.delete(id);
      return events;
    });
    await Promise.allSettled(turns);
  });
  after(() => bench.end());

  for (const [id, { what, code, words, retries, keeps = [] }] of CASES.entries())
    it(`${what} fails the turn in one sentence, and the session continues`, async () => {
      const events = await turns[id];
      assert.ok(events);
      failedWith(events, code, words);
      assert.equal(retriesOf(events).length > 0, retries, "retries are reported");
      const lines = [`user: Begin ${id}.`, `assistant: Answer ${id}.`, ...keeps];
      await bench.goesOn(pagurus, lines, keeps.length > 0 ? "And now?" : `Go on ${id}.`, `case-${id}`);
    });
});

describe("an endpoint that answers", () => {
  let bench: FaultBench;
  /** Replies for the next requests; then valid answers. */
  let steps: (index: number) => ReplyStep | undefined = () => undefined;
  afterEach(() => bench.end());

  async function begun(): Promise<Pagurus> {
    steps = () => undefined;
    bench = await FaultBench.with((_request, index) => steps(index) ?? { text: `Answer ${index}.` });
    const pagurus = await bench.host();
    await bench.ask(pagurus, "Begin.");
    return pagurus;
  }

  const BEGUN = ["user: Begin.", "assistant: Answer 0."];

  it("500 twice and then a valid answer is a turn like any other, and the retries are reported", async () => {
    const pagurus = await begun();
    steps = (index) => (index <= 2 ? { status: 500 } : undefined);
    const events = await bench.ask(pagurus, "Go on.");
    assert.deepEqual(retriesOf(events), ["responseStreamDisconnected", "responseStreamDisconnected"]);
    await bench.goesOn(pagurus, [...BEGUN, "user: Go on.", "assistant: Answer 3."]);
  });

  it("with a stream that breaks twice keeps nothing of the partial answers", async () => {
    const pagurus = await begun();
    steps = (index) => (index <= 2 ? { text: HALF, cutAfterChunks: 6, chunkSize: 5 } : undefined);
    const events = await bench.ask(pagurus, "Go on.");
    assert.equal(retriesOf(events).length, 2);
    await bench.goesOn(pagurus, [...BEGUN, "user: Go on.", "assistant: Answer 3."]);
    const keys = new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"]));
    assert.equal(keys.size, 1, "the thread went on: nothing was taken for lost");
  });

  it("with a call and a stream that breaks after it keeps each call with its result", async () => {
    const pagurus = await begun();
    const call = { id: "call_1", name: "exec_command", arguments: { cmd: "echo harbour" } };
    steps = (index) => (index <= 2 ? { toolCalls: [call], omitEnd: true } : undefined);
    await bench.ask(pagurus, "Go on.");
    const result = /^result call_1\S* [\s\S]*harbour/;
    const calls = [/^call exec_command call_1/, result, /^call exec_command call_1/, result];
    await bench.ask(pagurus, "And now?");
    const shown = conversation(bench.request(-1));
    for (const [index, line] of [...BEGUN, "user: Go on.", ...calls, "assistant: Answer 3."].entries())
      if (typeof line === "string") assert.equal(shown[index], line);
      else assert.match(shown[index] ?? "", line);
  });

  it("with an event that is no JSON is read further", async () => {
    const pagurus = await begun();
    steps = (index) => (index === 1 ? { text: "Answer 1.", malformed: true } : undefined);
    await bench.ask(pagurus, "Go on.");
    await bench.goesOn(pagurus, [...BEGUN, "user: Go on.", "assistant: Answer 1."]);
  });

  it("nothing keeps the turn waiting until it is aborted, and then no longer", async () => {
    const pagurus = await begun();
    steps = () => ({ hangAfterChunks: 0 });
    const run = pagurus.run({ prompt: "Go on.", cwd: bench.cwd });
    let at = 0;
    let last: TurnEvent | undefined;
    // Codex may close its connection before the turn has ended.
    let closed: Promise<unknown> | undefined;
    // The host knows of the request before Codex sends it: an abort until then leaves nothing to close.
    const asked = until(() => bench.server.requests.length === 2, "the model was asked");
    for await (const event of run) {
      last = event;
      if (event.type !== "model.request") continue;
      await asked;
      at = performance.now();
      closed = bench.server.clientClosed();
      run.abort();
    }
    assert.ok(last?.type === "turn.completed" && last.stopReason === "aborted", JSON.stringify(last));
    assert.ok(performance.now() - at < 4_900, "before the 5 s for an interrupt without an answer");
    await closed;
    steps = () => undefined;
    await bench.goesOn(pagurus, [...BEGUN, "user: Go on."]);
  });
});

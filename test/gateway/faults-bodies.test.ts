/** Invalid and hostile bodies at a governed route: each passes, or is refused in the dialect's format. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import { dialectOf } from "../../packages/gateway/src/dialect/dialects.ts";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import {
  askRaw,
  RawClient,
  withSetting,
  type RawAnswer,
  type RawRequest,
  type Setting,
} from "./passthrough-setting.ts";
import { APIS, atPort, eventsOf, RECORDED, share, sized, TURNS } from "./passthrough-traffic.ts";
import { assertFault, SECRET_WORDS, streamed, SUMMARY, summing } from "./faults-setting.ts";
import { FULL, runs } from "../runner/short-form.ts";
import { firstOf, longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

/** Requests that the gateway can read. */
const BASES: Readonly<Record<WireApi, readonly RawRequest[]>> = {
  "openai-responses": RECORDED.filter(({ api }) => api === "openai-responses"),
  "anthropic-messages": RECORDED.filter(({ api }) => api === "anthropic-messages"),
  "openai-completions": [TURNS["openai-completions"]],
  "google-generative-ai": [TURNS["google-generative-ai"]],
};

const ODD = [
  "\ufeff",
  "[]",
  "{}",
  "null",
  "-1e999",
  "123456789012345678901234567890e-5",
  String.raw`"\ud800"`,
  String.raw`"\u00"`,
  '"role":"user",',
  '"type":"message","type":1,',
  '"messages":[],"messages":[{"role":"user","content":"x"}],',
  '"input":[{"role":"user","content":"x"}],',
  "\u0000",
  "]]}}",
  "[[[[{{",
].map((text) => Buffer.from(text));
const INVALID_UTF8 = [
  Buffer.from([0xff]),
  Buffer.from([0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf8, 0x88]),
];

/** A change of a body at a place. */
const change = fc.oneof(
  fc.record({ kind: fc.constant("cut" as const), at: share }),
  fc.record({ kind: fc.constant("flip" as const), at: share, byte: fc.nat(255) }),
  fc.record({ kind: fc.constant("take out" as const), at: share, count: fc.integer({ min: 1, max: 400 }) }),
  fc.record({
    kind: fc.constant("put in" as const),
    at: share,
    what: fc.constantFrom(...ODD, ...INVALID_UTF8),
  }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changed(body: Buffer, how: Change): Buffer {
  const at = Math.min(body.length - 1, Math.floor(how.at * body.length));
  if (body.length === 0 || how.kind === "cut") return body.subarray(0, Math.max(0, at));
  if (how.kind === "put in") return Buffer.concat([body.subarray(0, at), how.what, body.subarray(at)]);
  if (how.kind === "take out") return Buffer.concat([body.subarray(0, at), body.subarray(at + how.count)]);
  const copy = Buffer.from(body);
  copy[at] = how.byte;
  return copy;
}

/**
 * Checks that the request was sent unchanged, with another context, or refused in the dialect's format; and that the governor got
 * each end.
 */
async function assertServed(
  made: Setting,
  sent: RawRequest,
  answer: RawAnswer,
  from: number,
): Promise<string> {
  const { api, endpoint, facts, seenCalls } = made;
  await until(() => facts.length > from);
  const fact = facts.at(-1);
  const asked = endpoint.asked.at(-1);
  await until(() => seenCalls.filter(({ what }) => what === "sent").length * 2 === seenCalls.length);
  if (answer.status !== 200) {
    assertFault(api, answer);
    return "fault";
  }
  assert.equal(answer.isWhole, true);
  if (fact?.answeredBy === "engine") return "engine";
  assert.ok(asked);
  if (fact?.isReplaced !== true) {
    assert.ok(asked.body.equals(sent.body), "what is not replaced is the same to the byte");
    return "passed";
  }
  assert.ok(asked.body.includes(SUMMARY), "what is replaced has the engine's context");
  const { list } = (await dialectOf(api)).read(
    sent.path.replace(/^\/v1(?=\/)/, ""),
    headersOf(sent),
    sent.body,
  );
  assert.ok(asked.body.indexOf(sent.body.subarray(0, list.start + 1)) === 0, "all before the list stays");
  const after = sent.body.subarray(list.end - 1);
  assert.ok(asked.body.subarray(-after.length).equals(after), "and all after it");
  return "replaced";
}

function headersOf({ headers }: RawRequest): Record<string, string> {
  const pairs = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1] ?? ""]] : [],
  );
  return Object.fromEntries(pairs) as Record<string, string>;
}

async function serve(made: Setting, client: RawClient, request: RawRequest): Promise<string> {
  const from = made.facts.length;
  const sent = sized(atPort(request, made.port), made.token);
  return assertServed(made, sent, await client.ask(sent), from);
}

for (const api of firstOf(APIS, 2))
  describe(`invalid bodies at a governed route of ${api}`, () => {
    it("pass or are refused, and nothing fails", async (t) => {
      const ends = new Map<string, number>();
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: summing }, async (made) => {
        const client = new RawClient(made.port);
        await fc.assert(
          fc.asyncProperty(
            fc.constantFrom(...BASES[api]),
            fc.array(change, { minLength: 1, maxLength: 4 }),
            async (base, changes) => {
              const body = changes.reduce(changed, base.body);
              const end = await serve(made, client, { ...base, body });
              ends.set(end, (ends.get(end) ?? 0) + 1);
            },
          ),
          { numRuns: Math.max(50, runs(400)) },
        );
        client.end();
        made.log.assertWithout([made.token, SUMMARY, ...SECRET_WORDS]);
      });
      t.diagnostic([...ends].map(([end, count]) => `${count} ${end}`).join(", "));
      assert.ok((ends.get("passed") ?? 0) > 0 && (ends.get("replaced") ?? 0) > 0, "of both there were some");
    });

    it("of odd structure do so too, however deep or large", async (t) => {
      const ends: string[] = [];
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: summing }, async (made) => {
        const client = new RawClient(made.port);
        for (const [name, body] of Object.entries(oddBodies(api)))
          ends.push(`${name}: ${await serve(made, client, { ...TURNS[api], body: Buffer.from(body) })}`);
        client.end();
        made.log.assertWithout([made.token, SUMMARY]);
      });
      t.diagnostic(ends.join("; "));
    });
  });

const LIST: Readonly<Record<WireApi, string>> = {
  "openai-responses": "input",
  "anthropic-messages": "messages",
  "openai-completions": "messages",
  "google-generative-ai": "contents",
};
const DEEP = 100_000;

/** Bodies of an API that differ in one thing from a valid one. */
function oddBodies(api: WireApi): Record<string, string | Buffer> {
  const list = LIST[api];
  const user = '{"type":"message","role":"user","content":"Where?"}';
  const more = '"model":"m","max_tokens":100,"stream":true';
  const of = (items: string, rest = more): string => `{${rest},"${list}":${items}}`;
  const deepList = `${"[".repeat(DEEP)}${"]".repeat(DEEP)}`;
  const deepObject = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;
  const element = (content: string, role = "user"): string =>
    `{"type":"message","role":"${role}","content":${content}}`;
  const block = (content: string): string =>
    `[{"type":"tool_result","tool_use_id":"t","content":${content}}]`;
  const call = `{"type":"function_call","call_id":"c","name":"n","arguments":${deepObject}}`;
  const part = (role: string, inside: string): string => `{"role":"${role}","parts":[${inside}]}`;
  const asked = part("user", '{"text":"Where?"}');
  const called = part("model", `{"functionCall":{"name":"n","args":${deepObject}}}`);
  const answered = part("user", `{"functionResponse":{"name":"n","response":${deepObject}}}`);
  const used = element(`[{"type":"tool_use","id":"t","name":"n","input":${deepObject}}]`, "assistant");
  return {
    "empty list": of("[]"),
    "no list": `{${more}}`,
    "list of other things": of('[1,"two",null,true,[3],{}]'),
    "an object for the list": of('{"0":1}'),
    "deep list": of(deepList),
    "deep open list": of("[".repeat(DEEP)),
    "deep object as content": of(`[${user},${element(deepObject)},${user}]`),
    "deep list as content": of(`[${user},${element(deepList)},${user}]`),
    "deep result": of(`[${user},${element(block(block(deepList)))},${user}]`),
    "deep arguments": of(`[${user},${call},${user}]`),
    "deep input of a call": of(`[${user},${used},${element(block('"r"'))},${user}]`),
    "deep parts": of(`[${asked},${called},${answered},${asked}]`),
    "deep system": of(`[${user}]`, `${more},"system":${deepList},"instructions":${deepObject}`),
    "deep metadata": of(`[${user}]`, `${more},"metadata":${deepObject},"client_metadata":${deepObject}`),
    "deep tools": of(`[${user}]`, `${more},"tools":${deepList}`),
    "many keys": of(
      `[${user}]`,
      `${more},${Array.from({ length: 20_000 }, (_, at) => `"k${at}":${at}`).join()}`,
    ),
    "many items": of(`[${Array.from({ length: 20_000 }, () => user).join()}]`),
    "huge numbers": of(`[${user}]`, `"model":1e400,"stream":1e999,"max_tokens":${"9".repeat(5_000)}`),
    "lone surrogates": of(`[${element(String.raw`"\ud800 and \udfff"`)},${user}]`),
    "invalid UTF-8": Buffer.from(of(`[${element('"\u00ff\u00fe"')},${user}]`), "latin1"),
    "byte order mark": `\ufeff${of(`[${user}]`)}`,
    "double keys": of(`[${user}]`, `${more},"${list}":[${user},${user}],"model":"n"`),
    "double roles": of(`[{"role":"user","role":"assistant","content":"x","content":"y"},${user}]`),
    "unknown roles": of(`[${element('"x"', "oracle")},${user}]`),
    "a prototype's names": of(
      `[{"role":"user","content":"x","__proto__":{"role":"tool"},"constructor":1},${user}]`,
    ),
    "a name that no string ends": `{"${list}`,
    "behind the end": `${of(`[${user}]`)}{}`,
    zeros: Buffer.alloc(4_096),
    "a list": "[]",
    "a string": '"text"',
    nothing: "",
  };
}

describe("a body that is large", () => {
  // The limit is the server's, the same for each dialect.
  for (const api of FULL ? APIS : APIS.slice(0, 1))
    longTest(`of 64 MiB passes ${api}, and one byte more is refused in its format`, async () => {
      const limit = 64 * 2 ** 20;
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: summing }, async (made) => {
        const body = largeBody(api, limit);
        assert.equal(body.length, limit);
        const sent = sized(atPort({ ...TURNS[api], body }, made.port), made.token);
        const answer = await askRaw(made, sent);
        assert.equal(answer.status, 200);
        await until(() => made.seenCalls.length === 2);
        assert.equal(made.facts[0]?.isReplaced, true);
        assert.ok(made.endpoint.asked[0]?.body.includes(SUMMARY));
        const tooLarge = sized({ ...sent, body: Buffer.concat([body, Buffer.from(" ")]) });
        const refused = await askRaw(made, tooLarge);
        assert.equal(refused.status, 413);
        assert.match(assertFault(api, refused), /larger than 67108864 bytes/);
        assert.equal(made.endpoint.asked.length, 1);
        made.log.assertWithout([made.token, SUMMARY, "harbour of the town"]);
      });
    });
});

/** The user's last text is short, and an earlier one very long. */
function largeBody(api: WireApi, length: number): Buffer {
  const isGoogle = api === "google-generative-ai";
  const [begin, end] = isGoogle ? ['"parts":[{"text":"', '"}]'] : ['"content":"', '"'];
  const before = `{"model":"m","max_tokens":100,"stream":true,"${LIST[api]}":[{"role":"user",${begin}`;
  const yes = `{"role":"${isGoogle ? "model" : "assistant"}",${begin}Yes.${end}}`;
  const after = `${end}},${yes},{"role":"user",${begin}And now?${end}}]}`;
  const words = "The harbour of the town. ";
  const space = length - before.length - after.length;
  return Buffer.from(`${before}${words.repeat(Math.ceil(space / words.length)).slice(0, space)}${after}`);
}

/** Invalid contexts that an engine may return. */
const NONSENSE: Readonly<Record<string, () => unknown>> = {
  "not an object": () => 5,
  "no context": () => ({}),
  null: () => ({ context: null, isOriginal: () => false }),
  "no messages": () => ({ context: { messages: null, historyCount: 0 }, isOriginal: () => false }),
  "messages that are none": () => ({
    context: { messages: [null, 1, "x"], historyCount: 1 },
    isOriginal: () => true,
  }),
  "unknown role": () => ({
    context: { messages: [{ role: "oracle", content: [] }], historyCount: 1 },
    isOriginal: () => false,
  }),
  "content of no kind": () => ({
    context: { messages: [{ role: "user", content: 5 }, { role: "assistant" }], historyCount: 9 },
    isOriginal: () => false,
  }),
  "parts of no kind": () => ({
    context: { messages: [{ role: "user", content: [null, { type: "sound" }] }], historyCount: -1 },
    isOriginal: () => false,
  }),
  "a result without a call": () => ({
    context: { messages: [{ role: "toolResult", content: [] }], historyCount: Number.NaN },
    isOriginal: () => false,
  }),
  "arguments that go round": () => {
    const round: Record<string, unknown> = {};
    round["round"] = round;
    const call = { type: "toolCall", id: "c", name: "n", arguments: round };
    return {
      context: { messages: [{ role: "assistant", content: [call] }], historyCount: 1 },
      isOriginal: () => false,
    };
  },
  "arguments too deep": () => {
    const deep = JSON.parse(`${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`) as unknown;
    const call = { type: "toolCall", id: "c", name: "n", arguments: deep };
    return {
      context: { messages: [{ role: "assistant", content: [call] }], historyCount: 1 },
      isOriginal: () => false,
    };
  },
  "a judge that throws": () => ({
    context: { messages: [{ role: "user", content: "x" }], historyCount: 0 },
    isOriginal: () => {
      throw new Error("no judge");
    },
  }),
  "an addition that is none": () => ({
    context: { messages: [{ role: "user", content: "x" }], historyCount: 0, systemPromptAddition: 7 },
    isOriginal: () => false,
  }),
};

/** Values that an engine may throw. */
const THROWN: readonly unknown[] = [
  new Error("It broke."),
  undefined,
  null,
  "words",
  5,
  { fault: "none" },
  Object.assign(new Error("odd"), { fault: "none" }),
  Object.create(null),
];

describe("a governor that fails", () => {
  for (const api of APIS) {
    it(`with nonsense for ${api} lets the request pass or be refused`, async (t) => {
      const ends: string[] = [];
      for (const [name, make] of Object.entries(NONSENSE)) {
        const main = (async () => make()) as unknown as Governor["main"];
        await withSetting({ api, answer: streamed(eventsOf(api)), governor: { main } }, async (made) => {
          const sent = sized(atPort(TURNS[api], made.port), made.token);
          const answer = await askRaw(made, sent);
          await until(() => made.seenCalls.length % 2 === 0 && made.facts.length === 1);
          if (answer.status === 200) assert.equal(made.seenCalls.length, 2);
          else assertFault(api, answer);
          ends.push(`${name}: ${answer.status}${made.facts[0]?.isReplaced ? " replaced" : ""}`);
          made.log.assertWithout([made.token]);
        });
      }
      t.diagnostic(ends.join("; "));
    });

    it(`with any thrown value for ${api} has the request be refused`, async () => {
      for (const thrown of THROWN) {
        // oxlint-disable-next-line prefer-promise-reject-errors
        const main = (): Promise<never> => Promise.reject(thrown as Error);
        await withSetting({ api, answer: streamed(eventsOf(api)), governor: { main } }, async (made) => {
          const client = new RawClient(made.port);
          const sent = sized(atPort(TURNS[api], made.port), made.token);
          for (let time = 0; time < 2; time++) {
            const answer = await client.ask(sent);
            assert.equal(answer.status, 500);
            assertFault(api, answer);
          }
          client.end();
          assert.equal(made.endpoint.asked.length, 0);
          assert.deepEqual(made.seenCalls, []);
          made.log.assertWithout([made.token, "It broke", "words"]);
        });
      }
    });
  }
});

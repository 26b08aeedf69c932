import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Captures, facts, passed } from "../gateway/capture/setting.ts";
import { command } from "./fake-cli.ts";

type Body = Record<string, unknown>;

function place(t: TestContext): Captures {
  const made = new Captures();
  t.after(() => made.remove());
  return made;
}

function run(captures: Captures, ...argv: string[]): ReturnType<typeof command> {
  return command(argv, { env: { PAGURUS_HOME: captures.home, COMPANY_KEY: "company-key-1" } });
}

const user = (content: string): Body => ({ role: "user", content });
const assistant = (content: string): Body => ({ role: "assistant", content });
const tools = [
  { type: "function", function: { name: "shell" } },
  { type: "function", function: { name: "read" } },
];
const system: Body = { role: "system", content: "You help." };
const body = (...messages: Body[]): Body => ({
  model: "m-1",
  messages: [system, ...messages],
  tools,
  stream: true,
});

const ANSWER = [
  { choices: [{ index: 0, delta: { role: "assistant", content: "It is " } }] },
  { choices: [{ index: 0, delta: { content: "done." }, finish_reason: "stop" }] },
]
  .map(
    (event) =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m-1", ...event })}\n\n`,
  )
  .join("")
  .concat("data: [DONE]\n\n");

/** Request 1 passed unchanged; in request 2 the engine's summary replaces the first two messages. */
async function story(captures: Captures, label = "model.example:443"): Promise<void> {
  passed(
    captures.log,
    facts(body(user("first question"), assistant("first answer"), user("second question")), { turnId: "t1" }),
    ANSWER,
  );
  const given = facts(
    body(
      user("first question"),
      assistant("first answer"),
      user("second question"),
      assistant("second answer"),
      user("third question"),
    ),
    {
      turnId: "t2",
      request: 1,
      rawHeaders: [
        "content-type",
        "application/json",
        "authorization",
        "Bearer harness-key-1",
        "cookie",
        "sid=1",
        "x-plain",
        "stays",
      ],
    },
  );
  const request = captures.log.begin(given);
  const sent = body(
    user("SUMMARY of the earlier words"),
    user("second question"),
    assistant("second answer"),
    user("third question"),
  );
  request.sent(label, [Buffer.from(JSON.stringify(sent))], {
    replaced: true,
    keptItems: 4,
    encodedMessages: 1,
    droppedItems: 2,
  });
  request.answered({ status: 200, rawHeaders: ["content-type", "text/event-stream"] });
  request.chunk(Buffer.from(ANSWER));
  request.end({ cut: false, left: false, answeredBy: "upstream" });
  const refused = captures.log.begin(facts(body(user("x")), { kind: "compaction", request: 2 }));
  refused.answered({ status: 200, rawHeaders: [] });
  refused.chunk(Buffer.from("{}"));
  refused.end({ cut: false, left: true, answeredBy: "engine" });
  await captures.log.settled();
}

/** Replaces numbers and times, which differ between runs. */
function steady(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "TIME").replace(/\d+ ms/g, "N ms");
}

test("list shows how each request was forwarded and who answered", async (t) => {
  const captures = place(t);
  await story(captures);
  const { code, out } = await run(captures, "requests", "list");
  assert.equal(code, 0);
  const lines = steady(out)
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
  assert.deepEqual(lines[0], [
    "#",
    "TIME",
    "RUNTIME",
    "KIND",
    "MODEL",
    "STATUS",
    "IN",
    "OUT",
    "SENT",
    "ANSWERED BY",
    "FIRST BYTE",
    "TOTAL",
  ]);
  assert.deepEqual(
    lines.slice(1).map((cells) => [cells[0], cells[2], cells[3], cells[4], cells[5], cells[8], cells[9]]),
    [
      ["1", "codex", "main", "m-1", "200", "passed", "upstream"],
      ["2", "codex", "main", "m-1", "200", "replaced", "upstream"],
      ["3", "codex", "compaction", "m-1", "200", "not sent", "engine (harness left)"],
    ],
  );
  const limited = await run(captures, "requests", "list", "--limit", "1", "--json");
  const records = JSON.parse(limited.out) as { number: number }[];
  assert.deepEqual(
    records.map(({ number }) => number),
    [3],
  );
});

test("list names the parts of an answer that the session does not have", async (t) => {
  const captures = place(t);
  passed(captures.log, facts(body(user("sing"))), ANSWER, { degraded: ["audio", "an image"] });
  await captures.log.settled();
  const { out } = await run(captures, "requests", "list");
  assert.match(out, /upstream \(degraded: without audio, an image\)/);
});

test("show marks each element as the harness's own or the engine's", async (t) => {
  const captures = place(t);
  await story(captures);
  const { code, out } = await run(captures, "requests", "show", "2");
  assert.equal(code, 0);
  const [head, elements] = steady(out).split("\n\n");
  assert.match(
    head ?? "",
    /^Request 2 of session main: main, m-1, codex \(openai-completions\)\nCame: +TIME, POST \/chat\/completions, \d+ B, turn t2\nSent: +\d+ B to model\.example:443, replaced \(4 elements kept, 1 message of the engine, 2 elements left out\)\nAnswer: +status 200 by the upstream, /,
  );
  const rows = (elements ?? "")
    .trimEnd()
    .split("\n")
    .slice(2)
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(
    rows.map(([at, role, , from, words]) => [at, role, from, words]),
    [
      ["tools", "tools", "kept", "2: shell, read"],
      ["messages[0]", "system", "kept", "You help."],
      ["messages[1]", "user", "engine", "SUMMARY of the earlier words"],
      ["messages[2]", "user", "kept", "second question"],
      ["messages[3]", "assistant", "kept", "second answer"],
      ["messages[4]", "user", "kept", "third question"],
    ],
  );
  const harness = await run(captures, "requests", "show", "2", "--part", "harness", "--json");
  const shown = JSON.parse(harness.out) as { elements: { from: string; hash: string }[] };
  assert.deepEqual(
    shown.elements.map(({ from }) => from),
    ["kept", "kept", "left out", "left out", "kept", "kept", "kept"],
  );
});

test("show --raw prints the exact bytes, and --part answer and headers the response", async (t) => {
  const captures = place(t);
  await story(captures);
  const raw = async (...argv: string[]): Promise<string> =>
    (await run(captures, "requests", "show", "2", "--raw", ...argv)).out;
  assert.equal(await raw("--part", "harness"), captures.bytes("000002.harness.bin").toString());
  assert.equal(await raw("--part", "sent"), captures.bytes("000002.sent.bin").toString());
  assert.equal(await raw("--part", "answer"), ANSWER);
  assert.equal(await raw(), await raw("--part", "sent"));
  const answer = await run(captures, "requests", "show", "2", "--part", "answer");
  assert.match(answer.out, /\n\nThe answer:\nIt is done\.\n$/);
  const headers = await run(captures, "requests", "show", "2", "--part", "headers");
  assert.equal(
    headers.out,
    "POST /chat/completions\ncontent-type: application/json\nauthorization: [redacted]\ncookie: [redacted]\nx-plain: stays\n\nstatus 200\ncontent-type: text/event-stream\n",
  );
  const none = await run(captures, "requests", "show", "3", "--part", "sent");
  assert.deepEqual([none.code, none.err.includes("--part harness")], [2, true]);
});

test("context show --request shows the same, and says why a request has no capture", async (t) => {
  const captures = place(t);
  const none = await run(captures, "context", "show", "--request", "1");
  assert.equal(none.code, 1);
  assert.match(
    none.err,
    /No request of session "main" is captured; requests are captured unless gateway\.capture is false or PAGURUS_CAPTURE is 0/,
  );
  await story(captures);
  const shown = await run(captures, "context", "show", "--request", "2");
  assert.equal(shown.out, (await run(captures, "requests", "show", "2")).out);
  const missing = await run(captures, "context", "show", "--request", "9");
  assert.match(
    missing.err,
    /Request 9 of session "main" is not captured, or its capture was deleted; the newest is 3/,
  );
  const other = await run(captures, "requests", "show", "1", "--session", "work");
  assert.match(
    other.err,
    /No request of session "work" is captured; --session names another; there are captures of "main"/,
  );
});

test("diff of one request shows the gateway's changes, of two how much of the second a cache could reuse", async (t) => {
  const captures = place(t);
  await story(captures);
  const one = await run(captures, "requests", "diff", "2");
  assert.match(
    one.out,
    /^From what the harness sent to the forwarded request: 5 kept \(\d+ B\), 2 replaced \(\d+ B\), 1 added \(\d+ B\)\.\n/,
  );
  const rows = one.out
    .trimEnd()
    .split("\n")
    .slice(4)
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(
    rows.map(([state, at]) => [state, at]),
    [
      ["kept", "tools … messages[0]"],
      ["replaced", "messages[1]"],
      ["replaced", "messages[2]"],
      ["added", "messages[1]"],
      ["kept", "messages[3] … messages[5]"],
    ],
  );
  const two = JSON.parse((await run(captures, "requests", "diff", "1", "2", "--json")).out) as {
    sharedPrefix: { bytes: number; of: number; percent: number; elements: number };
  };
  const json = (value: unknown): number => JSON.stringify(value).length;
  const all = [
    tools,
    system,
    user("SUMMARY of the earlier words"),
    user("second question"),
    assistant("second answer"),
    user("third question"),
  ];
  const shared = json(tools) + json(system) + '{"role":"user","content":"'.length;
  const of = all.reduce((sum: number, part) => sum + json(part), 0);
  assert.deepEqual(two.sharedPrefix, {
    bytes: shared,
    of,
    percent: Math.round((shared / of) * 1000) / 10,
    elements: 2,
  });
});

test("diff of a request that passed and of one that only grew: everything before is shared", async (t) => {
  const captures = place(t);
  passed(captures.log, facts(body(user("a"))));
  passed(captures.log, facts(body(user("a"), assistant("b"), user("c"))));
  await captures.log.settled();
  const { out } = await run(captures, "requests", "diff", "1");
  assert.match(out, /: 3 kept \(\d+ B\)\.\nShared prefix: (\d+ B) of \1 \(100 %\), 3 whole elements/);
  const grown = JSON.parse((await run(captures, "requests", "diff", "1", "2", "--json")).out) as {
    elements: { state: string }[];
    sharedPrefix: { elements: number };
  };
  assert.deepEqual(
    grown.elements.map(({ state }) => state),
    ["kept", "kept", "kept", "added", "added"],
  );
  assert.equal(grown.sharedPrefix.elements, 3);
});

test("clear deletes the captures of one session and leaves the others", async (t) => {
  const captures = place(t);
  for (const key of ["main", "work"]) passed(captures.log, facts({}, { key }));
  await captures.log.settled();
  const { out } = await run(captures, "requests", "clear", "--session", "work");
  assert.equal(out, 'Deleted 1 captured request of session "work".\n');
  assert.equal(readdirSync(join(captures.home, "captures")).length, 1);
  assert.equal((await run(captures, "requests", "clear", "--json")).out, '{\n  "requests": 1\n}\n');
});

/** An endpoint that answers with `ANSWER` and records its requests. */
async function endpoint(
  t: TestContext,
  status = 200,
): Promise<{ host: string; asked: { headers: IncomingHttpHeaders; body: string; url: string }[] }> {
  const asked: { headers: IncomingHttpHeaders; body: string; url: string }[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      asked.push({ headers: request.headers, body: text, url: request.url ?? "" });
      response
        .writeHead(status, { "content-type": "text/event-stream" })
        .end(status === 200 ? ANSWER : '{"error":{"message":"no"}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function configure(captures: Captures, host: string): void {
  mkdirSync(captures.home, { recursive: true });
  const company = {
    api: "openai-completions",
    baseUrl: `http://${host}/v1`,
    apiKey: "${COMPANY_KEY}",
    models: [{ id: "m-1" }, { id: "m-2" }],
  };
  writeFileSync(join(captures.home, "pagurus.json"), JSON.stringify({ models: { providers: { company } } }));
}

test("replay sends the same bytes again, with the host's own key, and stores nothing", async (t) => {
  const captures = place(t);
  const { host, asked } = await endpoint(t);
  await story(captures, host);
  configure(captures, host);
  const before = captures.size();
  const { code, out, err } = await run(captures, "requests", "replay", "2");
  assert.equal(code, 0, err);
  assert.equal(out, ANSWER);
  assert.match(err, /^Sent \d+ B to company\/m-1: status 200\. Nothing is stored\.\n$/);
  assert.equal(asked[0]?.body, captures.bytes("000002.sent.bin").toString());
  assert.equal(asked[0]?.url, "/v1/chat/completions");
  assert.equal(asked[0]?.headers.authorization, "Bearer company-key-1");
  // The host's own provider gets nothing of the harness's headers but those of the protocol.
  assert.equal(asked[0]?.headers["x-plain"], undefined);
  assert.equal(asked[0]?.headers["content-type"], "application/json");
  assert.equal(asked[0]?.headers.cookie, undefined);
  assert.equal(captures.size(), before);
  const other = await run(captures, "requests", "replay", "2", "--model", "company/m-2", "--text");
  assert.equal(other.out, "It is done.\n");
  assert.equal(asked[1]?.body, asked[0]?.body.replace('"m-1"', '"m-2"'));
});

test("replay refuses where it has no key, no address or not all bytes, and a refusal of the model is a failure", async (t) => {
  const captures = place(t);
  const { host } = await endpoint(t, 400);
  await story(captures, "elsewhere.example:443");
  const unknown = await run(captures, "requests", "replay", "2");
  assert.equal(unknown.code, 2);
  assert.match(
    unknown.err,
    /Request 2 went to elsewhere\.example:443, which no provider of the configuration serves/,
  );
  const missing = await run(captures, "requests", "replay", "2", "--model", "openai/gpt-5.5");
  assert.equal(missing.code, 2);
  assert.match(missing.err, /OPENAI_API_KEY.*\[credential_missing\]/);
  const unsent = await run(captures, "requests", "replay", "3");
  assert.match(unsent.err, /Request 3 was not forwarded; --model names a model/);
  configure(captures, host);
  const refused = await run(captures, "requests", "replay", "2", "--model", "company/m-1");
  assert.equal(refused.code, 1);
  assert.equal(refused.out, '{"error":{"message":"no"}}');
  const company = { api: "openai-completions", baseUrl: "https://far.example/v1", models: [{ id: "m-1" }] };
  writeFileSync(join(captures.home, "pagurus.json"), JSON.stringify({ models: { providers: { company } } }));
  const keyless = await run(captures, "requests", "replay", "2", "--model", "company/m-1");
  assert.match(
    keyless.err,
    /key of the harness, which captures do not hold; set models\.providers\.company\.apiKey/,
  );
  configure(captures, host);
  writeFileSync(join(captures.folder(), "000002.sent.bin"), '{"model":"m-1"}');
  const torn = await run(captures, "requests", "replay", "2", "--model", "company/m-1");
  assert.match(torn.err, /Of request 2 not all bytes are captured, so that it cannot be sent again/);
});

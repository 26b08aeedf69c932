import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { compareBodies } from "../../../packages/gateway/src/capture/compare.ts";
import { viewBody, type BodyView } from "../../../packages/gateway/src/capture/elements.ts";
import { dialectOf } from "../../../packages/gateway/src/dialect/dialects.ts";
import type { WireApi } from "../../../packages/gateway/src/dialect/wire-dialect.ts";

const PATHS: Record<WireApi, string> = {
  "openai-responses": "/responses",
  "anthropic-messages": "/messages",
  "openai-completions": "/chat/completions",
  "google-generative-ai": "/v1beta/models/m:generateContent",
};

const RECORDED = new URL("../recorded/", import.meta.url);

/** Recorded requests of a harness. */
function recorded(harness: string, api: WireApi) {
  const folders = readdirSync(RECORDED).filter((folder) => folder.startsWith(harness));
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, RECORDED)).map((file) => `${folder}/${file}`),
  );
  return files.map((name) => {
    const bytes = readFileSync(new URL(name, RECORDED));
    const space = bytes.includes("\r\n\r\n") ? "\r\n" : "\n";
    const end = bytes.indexOf(space + space);
    const [first = "", ...lines] = bytes.toString("utf8", 0, end).split(space);
    const headers = Object.fromEntries(
      lines.map((line): [string, string] => {
        const [header = "", ...value] = line.split(": ");
        return [header.toLowerCase(), value.join(": ")];
      }),
    );
    const path = (first.split(" ")[1] ?? "").replace(/^\/v1(?=\/)|\?.*$/g, "");
    return { name, api, path, headers, body: bytes.subarray(end + 2 * space.length) };
  });
}

async function look(api: WireApi, value: unknown): Promise<{ view: BodyView; body: Buffer }> {
  const body = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
  const dialect = await dialectOf(api);
  return { body, view: viewBody({ api, path: PATHS[api], headers: {}, body, dialect, width: 60 }) };
}

function rows({ elements }: BodyView): string[] {
  return elements.map(({ at, role, words }) => `${at} ${role}: ${words}`);
}

test("elements are in the order in which a provider reads them, whatever their order in the text", async () => {
  const messages = [
    {
      role: "user",
      content: [
        { type: "text", text: "a\nb" },
        { type: "image", source: {} },
      ],
    },
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "Read", input: { path: "x" } }] },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "found" }] }],
    },
  ];
  const { view } = await look("anthropic-messages", {
    model: "m",
    messages,
    system: [{ type: "text", text: "rules" }],
    tools: [{ name: "Read" }, { name: "Bash" }],
    max_tokens: 5,
  });
  assert.deepEqual(rows(view), [
    "tools tools: 2: Read, Bash",
    "system[0] text: rules",
    "messages[0] user: a b [image]",
    'messages[1] assistant: Read({"path":"x"})',
    "messages[2] user: found",
  ]);
  assert.equal(view.model, "m");
});

test("calls, results and elements without text are shown for the Responses protocol too", async () => {
  const { view } = await look("openai-responses", {
    model: "m",
    instructions: "rules",
    tools: [],
    input: [
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
      { type: "reasoning", summary: [], encrypted_content: "xyz" },
      { type: "function_call", name: "shell", call_id: "1", arguments: '{"cmd":"ls"}' },
      { type: "function_call_output", call_id: "1", output: "README" },
    ],
  });
  assert.deepEqual(rows(view), [
    "instructions instructions: rules",
    "input[0] user: hi",
    "input[1] reasoning: [reasoning]",
    'input[2] function_call: shell({"cmd":"ls"})',
    "input[3] function_call_output: README",
  ]);
});

test("parts of Google's protocol are shown, and the model of its path", async () => {
  const { view } = await look("google-generative-ai", {
    contents: [
      { parts: [{ text: "hi" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }], role: "user" },
      { parts: [{ functionCall: { name: "look", args: { at: "pier" } } }], role: "model" },
      { parts: [{ functionResponse: { name: "look", response: { output: "a whelk" } } }], role: "user" },
    ],
    systemInstruction: { parts: [{ text: "rules" }] },
    tools: [{ functionDeclarations: [{ name: "look" }, { name: "hear" }] }, { googleSearch: {} }],
  });
  assert.deepEqual(rows(view), [
    "tools tools: 3: look, hear, googleSearch",
    "systemInstruction systemInstruction: rules",
    "contents[0] user: hi [image/png]",
    'contents[1] model: look({"at":"pier"})',
    "contents[2] user: a whelk",
  ]);
  assert.deepEqual([view.model, view.kind], ["m", "main"]);
});

test("a string in place of the list, a truncated body and invalid JSON are reported", async () => {
  const { view } = await look("openai-responses", { model: "m", input: "only words" });
  assert.deepEqual(rows(view), ["input[0] input: only words"]);
  for (const body of ['{"model":"m","messages":[{"role":"us', "words", ""]) {
    const cut = await look("openai-completions", Buffer.from(body));
    assert.deepEqual(cut.view.elements, []);
    assert.match(cut.view.note ?? "", /no JSON object of its protocol, or was cut/);
  }
});

test("a moved cache mark does not change the content, and does not end the shared prefix", async () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const say = (role: string, text: string, more = {}): unknown => ({
    role,
    content: [{ type: "text", text, ...more }],
  });
  const first = { tools: [{ name: "a", ...mark }], messages: [say("user", "one", mark)] };
  const second = {
    tools: [{ name: "a" }],
    messages: [{ role: "user", content: "one" }, say("assistant", "two"), say("user", "three", mark)],
  };
  const diff = compareBodies(
    await look("anthropic-messages", first),
    await look("anthropic-messages", second),
  );
  assert.deepEqual(
    diff.elements.map(({ state, element }) => [state, element.at]),
    [
      ["marked", "tools"],
      ["marked", "messages[0]"],
      ["added", "messages[1]"],
      ["added", "messages[2]"],
    ],
  );
  assert.equal(diff.sharedPrefix.elements, 2);
});

test("equal elements are matched in order, and each only once", async () => {
  const list = (...texts: string[]): unknown => ({
    messages: texts.map((content) => ({ role: "user", content })),
  });
  const diff = compareBodies(
    await look("openai-completions", list("ok", "a", "ok", "b", "ok")),
    await look("openai-completions", list("s", "ok", "b", "ok", "ok")),
  );
  assert.equal(diff.counts.kept.elements, 3);
  assert.equal(diff.counts.kept.elements + diff.counts.added.elements, 5);
  assert.equal(diff.counts.kept.elements + diff.counts.dropped.elements + diff.counts.replaced.elements, 5);
  assert.deepEqual([diff.sharedPrefix.elements, diff.isSameModel], [0, true]);
});

test("every recorded request is read completely, and equals itself", async () => {
  const all = [
    ...recorded("claude-code", "anthropic-messages"),
    ...recorded("codex", "openai-responses"),
    ...recorded("gemini-cli", "google-generative-ai"),
  ];
  assert.ok(all.length > 20);
  for (const { name, api, path, headers, body } of all) {
    const dialect = await dialectOf(api);
    const view = viewBody({ api, path, headers, body, dialect, width: 60 });
    assert.equal(view.note, undefined, name);
    assert.ok(view.elements.length >= 1, name);
    assert.ok(view.kind, name);
    for (const { words, at } of view.elements)
      assert.ok(words.length > 0 && words.length <= 60, `${name} ${at}`);
    const { sharedPrefix, counts } = compareBodies({ view, body }, { view, body });
    assert.deepEqual([sharedPrefix.percent, counts.kept.elements], [100, view.elements.length], name);
  }
});

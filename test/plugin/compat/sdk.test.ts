import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { MessageEntry, TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import * as sdk from "../../../packages/host/src/plugin/compat/sdk.ts";
import { offerTranscripts } from "../../../packages/host/src/plugin/compat/transcripts.ts";

function entry(id: string, text: string): MessageEntry {
  const message = { role: "user" as const, content: text };
  return { type: "message", id, parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message };
}

const NOTE: TranscriptEntry = {
  type: "custom",
  id: "n",
  parentId: null,
  timestamp: "2026-01-01T00:00:00.000Z",
  customType: "note",
};

describe("the transcript of a session, requested by its name", () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  function offer(storePath: string, entries: TranscriptEntry[]): void {
    ends.push(
      offerTranscripts((target) =>
        target.storePath === undefined || target.storePath === storePath ? from(entries) : undefined,
      ),
    );
  }
  async function* from(entries: TranscriptEntry[]): AsyncGenerator<TranscriptEntry> {
    yield* entries;
  }

  it("is its messages in order, with ids, of the host that has it", async () => {
    offer("/a", [entry("1", "first"), NOTE, entry("2", "second")]);
    offer("/b", [entry("9", "of another host")]);
    const found = await sdk.readVisibleSessionTranscriptMessageEntries({ sessionId: "s", storePath: "/a" });
    assert.deepEqual(
      found.map(({ entryId, parentId, seq, role, message }) => [
        entryId,
        parentId,
        seq,
        role,
        message.content,
      ]),
      [
        ["1", null, 1, "user", "first"],
        ["2", "1", 2, "user", "second"],
      ],
    );
    const other = await sdk.readVisibleSessionTranscriptMessageEntries({ sessionId: "s", storePath: "/b" });
    assert.deepEqual(
      other.map(({ entryId }) => entryId),
      ["9"],
    );
  });

  it("is refused if no host has it", async () => {
    const asked = sdk.readVisibleSessionTranscriptMessageEntries({ sessionId: "nobody's" });
    await assert.rejects(asked, { code: "session_not_found" });
  });

  it("comes in pages that a cursor continues, and restarts where the cursor is gone", async () => {
    offer(
      "/a",
      ["1", "2", "3", "4"].map((id) => entry(id, `message ${id}`)),
    );
    const read = (more: object) => sdk.readSessionTranscriptVisibleMessageDelta({ storePath: "/a", ...more });
    const first = await read({ maxMessages: 3 });
    assert.ok(first.kind === "page");
    assert.deepEqual(
      [first.entries.map(({ seq }) => seq), first.cursor, first.hasMore],
      [[1, 2, 3], "3", true],
    );
    const second = await read({ cursor: first.cursor });
    assert.ok(second.kind === "page");
    assert.deepEqual([second.entries.map(({ seq }) => seq), second.hasMore], [[4], false]);
    const none = await read({ cursor: second.cursor });
    assert.ok(none.kind === "page" && none.entries.length === 0 && none.cursor === "4");
    const small = await read({ maxBytes: 1 });
    assert.ok(small.kind === "page" && small.entries.length === 1 && small.hasMore);
    assert.deepEqual(await read({ cursor: "gone" }), { kind: "reset", cursor: "", reason: "anchor_missing" });
    assert.deepEqual(await read({ storePath: "/nowhere" }), { kind: "missing" });
  });
});

describe("helpers of openclaw/plugin-sdk", () => {
  it("take out what looks like a secret and leave the rest", () => {
    const text = 'sk-abcdefgh12345 Bearer abcdefgh.ijk api_key="hunter2222" the token is short';
    const clean = sdk.redactSensitiveText(text);
    assert.equal(clean, '[secret] Bearer [secret] api_key="[secret]" the token is short');
  });

  it("read arguments as OpenClaw's tools do", () => {
    const params = { a: " x ", b: "", n: "3.7", wrong: "x" };
    assert.equal(sdk.readStringParam(params, "a"), "x");
    assert.equal(sdk.readStringParam(params, "a", { trim: false }), " x ");
    assert.equal(sdk.readStringParam(params, "b"), undefined);
    assert.equal(sdk.readStringParam(params, "b", { allowEmpty: true }), "");
    assert.throws(
      () => sdk.readStringParam(params, "c", { required: true, label: "query" }),
      /query required/,
    );
    assert.equal(sdk.readNumberParam(params, "n"), 3.7);
    assert.equal(sdk.readNumberParam(params, "n", { integer: true }), 3);
    assert.equal(sdk.readNumberParam(params, "wrong"), undefined);
    assert.throws(() => sdk.readNumberParam(params, "wrong", { required: true }), /wrong required/);
    assert.deepEqual(sdk.jsonResult({ a: 1 }), {
      content: [{ type: "text", text: '{\n  "a": 1\n}' }],
      details: { a: 1 },
    });
  });

  it("name the agent of a session key, and the default one", () => {
    assert.equal(sdk.resolveSessionAgentId({ sessionKey: "agent:work:main" }), "work");
    assert.equal(sdk.resolveSessionAgentId({ sessionKey: "main" }), "main");
    assert.equal(sdk.resolveSessionAgentId({ sessionKey: "agent:work:main", agentId: "own" }), "own");
    assert.equal(sdk.resolveSessionAgentId({ sessionKey: "main", fallbackAgentId: "spare" }), "spare");
    const config = { agents: { list: [{ id: "a" }, { id: "b", default: true }] } };
    assert.equal(sdk.resolveDefaultAgentId(config), "b");
    assert.equal(sdk.resolveDefaultAgentId({ agents: { list: [{ id: "a" }] } }), "a");
  });

  it("make a schema that takes no settings", () => {
    const { safeParse, parse, jsonSchema } = sdk.emptyPluginConfigSchema();
    assert.deepEqual([safeParse({}).success, safeParse(undefined).success], [true, true]);
    assert.equal(safeParse({ a: 1 }).success, false);
    assert.throws(() => parse({ a: 1 }), { code: "config_invalid" });
    assert.equal(jsonSchema.additionalProperties, false);
  });
});

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isValidSequence } from "../../packages/core/src/compaction/tool-pairing.ts";
import { isPagurusError } from "../../packages/contract/src/errors.ts";
import { Pace } from "../../packages/core/src/platform/pace.ts";
import { readSession } from "../../packages/replay/src/read-session.ts";
import { formatLine } from "../../packages/host/src/stores/files/transcript/transcript-entry.ts";
import { claudeLines, writeLines } from "./generated-session.ts";

const folder = mkdtempSync(join(tmpdir(), "pagurus-read-session-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a session of another program is read as model calls in turns, and the file is unchanged", async () => {
  const file = join(folder, "generated.jsonl");
  writeLines(file, claudeLines(4));
  const before = readFileSync(file);
  const session = await readSession(file, new Pace());
  assert.ok(session);
  assert.equal(session.format, "claude-code");
  assert.equal(session.calls.length, 4 * 6);
  assert.equal(new Set(session.calls.map(({ turnId }) => turnId)).size, 4);
  assert.equal(isValidSequence(session.messages), undefined);
  for (const call of session.calls) {
    assert.equal(session.messages[call.end]?.role, "assistant");
    assert.equal(session.messages[call.liveStart]?.role, "user");
  }
  assert.deepEqual(readFileSync(file), before);
});

test("a transcript is read along its active path: an abandoned branch is no part of it", async () => {
  const file = join(folder, "own.jsonl");
  const entry = (id: string, parentId: string | null, message: object, turnId = "t1"): Buffer =>
    formatLine({
      type: "message",
      id,
      parentId,
      turnId,
      timestamp: new Date(0).toISOString(),
      message,
    } as never);
  const says = (text: string): object => ({ role: "assistant", content: [{ type: "text", text }] });
  writeFileSync(
    file,
    Buffer.concat([
      formatLine({
        type: "session",
        version: 3,
        id: "mfk3x9a2b0001234",
        timestamp: "2026-01-01T00:00:00.000Z",
        cwd: "/",
        key: "main",
      }),
      entry("a1", null, { role: "user", content: "first" }),
      entry("a2", "a1", says("left")),
      entry("a3", "a1", says("kept")),
      entry("a4", "a3", { role: "user", content: "more for the same turn" }),
      entry("a5", "a4", says("end")),
      entry("a6", "a5", { role: "user", content: "second" }, "t2"),
      entry("a7", "a6", says("last"), "t2"),
    ]),
  );
  const session = await readSession(file, new Pace());
  assert.ok(session);
  assert.deepEqual([session.format, session.isShortened], ["pagurus", false]);
  assert.deepEqual(
    session.messages.map(({ content }) =>
      typeof content === "string" ? content : (content[0] as { text: string }).text,
    ),
    ["first", "kept", "more for the same turn", "end", "second", "last"],
  );
  assert.deepEqual(
    session.calls.map(({ liveStart }) => liveStart),
    [0, 0, 4],
  );
});

test("a file of no known program has no session, and an empty conversation is refused with its reason", async () => {
  const unknown = join(folder, "unknown.jsonl");
  writeFileSync(unknown, '{"some":"thing"}\n');
  assert.equal(await readSession(unknown, new Pace()), undefined);
  const empty = join(folder, "empty.jsonl");
  writeLines(empty, [{ type: "summary", parentUuid: null, uuid: "u", sessionId: "s" }]);
  await assert.rejects(
    readSession(empty, new Pace()),
    (error) => isPagurusError(error) && error.code === "import_invalid",
  );
});

test("an abort ends the reading of a session, and its temporary files are removed", async () => {
  const place = mkdtempSync(join(folder, "tmp-"));
  const former = process.env["TMPDIR"];
  process.env["TMPDIR"] = place;
  try {
    const file = join(folder, "long.jsonl");
    writeLines(file, claudeLines(300));
    const controller = new AbortController();
    const reading = readSession(file, new Pace(controller.signal));
    controller.abort();
    await assert.rejects(reading, (error) => isPagurusError(error) && error.code === "turn_aborted");
    assert.deepEqual(readdirSync(place), []);
  } finally {
    if (former === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = former;
  }
});

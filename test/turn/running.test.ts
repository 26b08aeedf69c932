/** Steering and stopping a running turn from another host of the same home, as another process would do it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { SessionRecord } from "../../packages/contract/src/session/writer.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { Letter, mailboxFolder } from "../../packages/host/src/stores/files/session-mailbox.ts";
import type { LiveSession } from "../../packages/host/src/turn/record/live-session.ts";
import { TurnMailbox, type TurnInput } from "../../packages/host/src/turn/agent/turn-mailbox.ts";
import { Bench, eventsOf } from "./in-process.ts";
import { until } from "../runner/until.ts";

const NO_TURN = { code: "turn_not_running", message: /^No turn is running in the session main; / };

describe("a running turn, reached from another host", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  const box = (host: Pagurus): string => {
    const record = host.sessions().find("main");
    assert.ok(record);
    return mailboxFolder(record);
  };

  /** Two hosts; the first runs a turn whose first answer takes a while. */
  async function begun(
    hangs = false,
  ): Promise<{ other: Pagurus; host: Pagurus; events: ReturnType<typeof eventsOf> }> {
    bench = await Bench.with((_request, index) =>
      index === 0
        ? { text: "slow", ...(hangs ? { hangAfterChunks: 1 } : { delayMs: 150 }) }
        : { text: "told" },
    );
    const host = await bench.host();
    const other = await bench.host();
    const events = eventsOf(host.run({ prompt: "go", cwd: bench.root }));
    await until(() => bench.server.requests.length !== 0);
    return { host, other, events };
  }

  it("takes steering before its next model call, and leaves no mailbox", async () => {
    const { host, other, events } = await begun();
    await other.running.steer({ text: "and look again" });
    assert.equal(statSync(box(host)).mode & 0o777, 0o700);
    const last = (await events).at(-1);
    assert.equal(last?.type, "turn.completed");
    assert.match(bench.server.requests[1]?.text ?? "", /and look again/);
    assert.equal(existsSync(box(host)), false);
    await assert.rejects(other.running.steer({ text: "late" }), NO_TURN);
    await assert.rejects(other.running.steer({ text: " " }), { code: "usage_invalid" });
  });

  it("is stopped", async () => {
    const { host, other, events } = await begun(true);
    await other.running.stop({});
    const last = (await events).at(-1);
    assert.ok(last?.type === "turn.completed" && last.stopReason === "aborted", JSON.stringify(last));
    await assert.rejects(other.running.stop({}), NO_TURN);
    assert.equal(existsSync(box(host)), false);
  });

  it("is reached by its own host without files", async () => {
    const { host, events } = await begun(true);
    await host.running.steer({ text: "more" });
    await host.running.stop({});
    const last = (await events).at(-1);
    assert.ok(last?.type === "turn.completed" && last.stopReason === "aborted", JSON.stringify(last));
    assert.doesNotMatch(JSON.stringify(await events), /not_running/);
  });

  it("cannot be reached when a session does not exist, or another program holds it", async () => {
    bench = await Bench.with(() => ({ text: "x" }));
    const host = await bench.host();
    await assert.rejects(host.running.stop({ sessionKey: "nobody" }), { code: "turn_not_running" });
    const writer = host.sessions().openWriter("main", { cwd: bench.root });
    await assert.rejects(host.running.stop({}), NO_TURN);
    // A process that hangs: its mailbox is open and is not polled.
    const folder = box(host);
    mkdirSync(folder);
    await assert.rejects(host.running.stop({}), NO_TURN);
    writeFileSync(join(folder, "open"), "");
    const closing = host.running.steer({ text: "hello" }).then(
      () => assert.fail("nobody can have taken it"),
      (error: unknown) => error as Error,
    );
    await until(() => readdirSync(folder).length === 2);
    await host.close();
    assert.match((await closing).message, /^Process \d+ runs in the session main and did not answer; /);
    assert.deepEqual(readdirSync(folder), ["open"]);
    writer.close();
  });
});

describe("the mailbox of a turn", () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-mailbox-"));
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const record = (id: string): SessionRecord => ({
    sessionKey: "main",
    sessionId: id,
    file: join(root, `${id}.jsonl`),
    cwd: root,
    createdAt: "",
    updatedAt: "",
    entryCount: 0,
    bytes: 0,
    current: true,
    generation: 1,
  });

  it("removes leftovers, drops invalid requests, and follows a session that gets another id", async () => {
    mkdirSync(join(root, "a.mailbox"), { recursive: true });
    writeFileSync(join(root, "a.mailbox", "0-old.request.json"), '{"kind":"stop"}');
    const received: string[] = [];
    const turn: TurnInput = {
      steer: (text) => received.push(text) < 2,
      abort: () => void received.push("stop"),
    };
    const session = { writer: { record: record("a") } };
    const mailbox = new TurnMailbox(session as unknown as LiveSession, turn, silentLogger);
    await until(() => existsSync(join(root, "a.mailbox", "open")));
    writeFileSync(join(root, "a.mailbox", "1-bad.request.json"), "{");
    const first = new Letter(record("a"));
    assert.equal(first.post({ kind: "steer", text: "one" }), true);
    assert.deepEqual(await answerOf(first), { accepted: true });
    assert.deepEqual(received, ["one"]);
    assert.deepEqual(readdirSync(join(root, "a.mailbox")), ["open"]);
    session.writer.record = record("b");
    await until(() => existsSync(join(root, "b.mailbox")));
    assert.equal(existsSync(join(root, "a.mailbox")), false);
    const second = new Letter(record("b"));
    second.post({ kind: "steer", text: "two" });
    assert.deepEqual(await answerOf(second), { accepted: false });
    mailbox.close();
    assert.equal(new Letter(record("b")).post({ kind: "stop" }), false);
    assert.equal(second.answer(), "gone");
  });
});

async function answerOf(letter: Letter): Promise<ReturnType<Letter["answer"]>> {
  let answer: ReturnType<Letter["answer"]>;
  await until(() => (answer = letter.answer()) !== undefined);
  return answer;
}

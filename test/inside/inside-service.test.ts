import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { recallIn } from "../../packages/contract/src/engine/recall-block.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { cutProblem, type ProgramMessage } from "../../packages/inside/src/client/host-client.ts";
import { adapterFacts } from "../../packages/inside/src/service/adapter-reports.ts";
import { insideOptions } from "../../packages/inside/src/service/inside-options.ts";
import { InsideService } from "../../packages/inside/src/service/inside-service.ts";

const words = (name: string, count = 250): string =>
  Array.from({ length: count }, (_, n) => `${name}${n}`).join(" ");
const user = (text: string): ProgramMessage => ({ role: "user", text, calls: [], results: [] });
const assistant = (text: string): ProgramMessage => ({ role: "assistant", text, calls: [], results: [] });

/** A turn with a call of a tool. */
function turn(n: number): ProgramMessage[] {
  return [
    user(`Question ${n} ${words(`q${n}x`)}`),
    { role: "assistant", text: "I look.", calls: [{ id: `c${n}`, name: "Bash", input: { n } }], results: [] },
    { role: "user", text: "", calls: [], results: [{ id: `c${n}`, text: words(`r${n}x`), isError: false }] },
    assistant(`Answer ${n} ${words(`a${n}x`, 40)}`),
  ];
}

const turns = (from: number, to: number): ProgramMessage[] =>
  Array.from({ length: to - from }, (_, n) => turn(from + n)).flat();

interface Made {
  head: string;
  keep: number[];
}

describe("the service for adapters", () => {
  const root = mkdtempSync(join(tmpdir(), "pg-is-"));
  const home = join(root, "home");
  const socketPath = join(root, "inside.sock");
  let pagurus: Pagurus;
  let service: InsideService;
  before(async () => {
    mkdirSync(home);
    pagurus = await createPagurus(insideOptions(home, { PAGURUS_HOME: home, PAGURUS_NO_PROBE: "1" }));
    const open = async (): Promise<Pagurus> => pagurus;
    const begin = () => () => undefined;
    service = await InsideService.start({ home, socket: socketPath, logger: silentLogger, open, begin });
  });
  after(async () => {
    await service.close();
    rmSync(root, { recursive: true, force: true });
  });

  function ask(session: string, operation: string, body: object = {}): Promise<Record<string, unknown>> {
    const text = JSON.stringify({ program: "claude-code", session, cwd: root, ...body });
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, path: `/v1/${operation}`, method: "POST" }, (answer) => {
        let got = "";
        answer.on("data", (chunk: Buffer) => void (got += chunk.toString()));
        answer.on("end", () => resolve(JSON.parse(got) as Record<string, unknown>));
      });
      sent.on("error", reject).end(text);
    });
  }

  async function compacted(session: string, messages: readonly ProgramMessage[]): Promise<ProgramMessage[]> {
    const made = (await ask(session, "compact", { messages, reason: "manual" })) as unknown as Made;
    assert.equal(cutProblem(messages, { ...made }), undefined, JSON.stringify(made).slice(0, 300));
    return [user(made.head), ...made.keep.flatMap((index) => messages[index] ?? [])];
  }

  /** Texts of the path that begin with a word, in order. */
  async function stored(session: string, beginning: RegExp): Promise<string[]> {
    const reader = pagurus.sessions().openReader(`inside/claude-code/${session}`);
    const texts: string[] = [];
    for await (const entry of reader.cursor.forward()) {
      if (entry.type !== "message" || typeof entry.message.content === "string") continue;
      for (const part of entry.message.content)
        if (part.type === "text") texts.push(...(beginning.exec(part.text) ?? []).slice(0, 1));
    }
    reader.close();
    return texts;
  }

  const names = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, n) => `Question ${from + n}`);

  it("keeps the newest messages in whole pairs over several compactions, and stores each message once", async () => {
    let list = turns(0, 12);
    for (let next = 12; next <= 36; next += 12) {
      list = await compacted("several", list);
      assert.match(list[0]?.text ?? "", /^<conversation_summary>/);
      assert.ok(list.length < 48);
      list = [...list, ...turns(next, next + 12)];
    }
    await ask("several", "append", { messages: list, isWhole: true });
    assert.deepEqual(await stored("several", /^Question \d+/), names(0, 48));
  });

  it("stores only what follows, also where the same rows come twice", async () => {
    const messages = turns(0, 2);
    assert.deepEqual(await ask("follows", "append", { messages, isWhole: true }), { added: 8 });
    assert.deepEqual(await ask("follows", "append", { messages, isWhole: true }), { added: 0 });
    assert.deepEqual(await ask("follows", "append", { messages: turns(2, 3), isWhole: false }), { added: 4 });
    const again = [...turns(1, 3), ...turns(3, 4)];
    assert.deepEqual(await ask("follows", "append", { messages: again, isWhole: true }), { added: 4 });
    assert.deepEqual(await stored("follows", /^Question \d+/), names(0, 4));
  });

  it("keeps the same words twice where the user wrote them twice around a compaction", async () => {
    const ok = [user("Go on."), assistant("Done.")];
    const list = await compacted("twice", [...turns(0, 12), ...ok]);
    await ask("twice", "append", { messages: [...list, ...ok, ...ok], isWhole: true });
    assert.deepEqual(await stored("twice", /^Go on/), ["Go on", "Go on", "Go on"]);
  });

  it("stores each message once where the program lists those before a compaction too", async () => {
    const all = turns(0, 12);
    const list = await compacted("listed", all);
    await ask("listed", "append", { messages: [...all, ...list, ...turns(12, 13)], isWhole: true });
    assert.deepEqual(await stored("listed", /^Question \d+/), names(0, 13));
  });

  it("follows the user back to an earlier message, and keeps the branch that was left", async () => {
    await ask("back", "append", { messages: turns(0, 4), isWhole: true });
    await ask("back", "append", { messages: [...turns(0, 2), ...turns(9, 10)], isWhole: true });
    assert.deepEqual(await stored("back", /^Question \d+/), ["Question 0", "Question 1", "Question 9"]);
    assert.match(String((await ask("back", "search", { query: "q3x7" }))["text"]), /Question 3|q3x/);
  });

  it("stores what follows a compaction of the program's own, and its summary is no message", async () => {
    await ask("own", "append", { messages: turns(0, 4), isWhole: true });
    const summary = user("This session is being continued from a previous conversation.");
    await ask("own", "append", { messages: [summary, ...turns(3, 6)], isWhole: true });
    assert.deepEqual(await stored("own", /^(?:Question \d+|This session)/), names(0, 6));
  });

  it("gives back a kept result character for character, and stores it in the place of its stub", async () => {
    const text = `depth\t12 m\r\n"${"x".repeat(9_000)}" \u{1F30A}`;
    const { id } = await ask("results", "result", { callId: "c0", text });
    assert.deepEqual(await ask("results", "expand", { id }), { text });
    const [question, call, , answer] = turn(0);
    const stub: ProgramMessage = {
      role: "user",
      text: "",
      calls: [],
      results: [{ id: "c0", text: "[stub]", isError: false }],
    };
    await ask("results", "append", { messages: [question, call, stub, answer], isWhole: true });
    assert.deepEqual(await stored("results", /^depth[^]*$/), [text]);
    const missing = await ask("results", "expand", { id: "none" });
    assert.equal((missing["error"] as Record<string, unknown>)["code"], "entry_not_found");
  });

  it("recalls nothing before a compaction, and afterwards what is out of sight", async () => {
    const messages = [
      user("The spare key hangs behind the green buoy."),
      assistant("Noted."),
      ...turns(0, 12),
    ];
    await ask("recall", "append", { messages, isWhole: true });
    const prompt = "Where does the spare key hang?";
    assert.deepEqual(await ask("recall", "recall", { prompt }), { text: "" });
    await compacted("recall", messages);
    const found = (await ask("recall", "recall", { prompt }))["text"];
    assert.match(String(found), /behind the green buoy/);
    const place = { sessionKey: "inside/claude-code/recall", cwd: root, prompt };
    assert.equal(found, recallIn((await pagurus.context.preview(place)).messages));
    const { left } = (await ask("recall", "left-out")) as { left: { messages: number; requests: string[] } };
    assert.ok(left.messages > 20);
    assert.match(left.requests.join("\n"), /green buoy/);
    assert.match(String((await ask("recall", "pin"))["text"]), /pin/i);
  });

  it("stores a turn once under its key, and equal words of another turn again", async () => {
    const said = [user("Is the tide in?"), assistant("Yes.")];
    const commit = (key: string): Promise<unknown> =>
      ask("keyed", "commit", { key, messages: said }).then(({ status }) => status);
    assert.equal(await commit("k1"), "committed");
    assert.equal(await commit("k1"), "duplicate");
    assert.equal(await commit("k2"), "committed");
    assert.deepEqual(await stored("keyed", /^Is the tide in/), ["Is the tide in", "Is the tide in"]);
  });

  it("completes a turn that was stored in part when its program sends it again", async () => {
    await ask("torn", "commit", { key: "k1", messages: turn(1) });
    const writer = pagurus.sessions().openWriter("inside/claude-code/torn", { cwd: root });
    const half = { role: "user" as const, content: "Question 2", timestamp: 0 };
    writer.append({ type: "message", message: half, turnId: "k2" });
    writer.close();
    const answer = await ask("torn", "commit", { key: "k2", messages: turn(2) });
    assert.equal(answer["status"], "committed");
    assert.deepEqual(await stored("torn", /^Question \d+/), names(1, 3));
  });

  it("makes the context of a request from the program's own list, by what the last compaction keeps", async () => {
    const all = turns(0, 12);
    for (let n = 0; n < 12; n += 1) await ask("whole", "commit", { key: `k${n}`, messages: turn(n) });
    const before = await ask("whole", "context", { messages: all });
    assert.equal(before["head"], undefined);
    const entries = Object.keys(before["ids"] as object);
    assert.equal(entries.length, all.length, "each message has its entry");
    const id = (before["ids"] as Record<string, string>)["2"];
    assert.deepEqual(await ask("whole", "expand", { id }), { text: words("r0x") });
    await ask("whole", "compact", {});
    const later = [...all, ...turn(12)];
    const made = (await ask("whole", "context", { messages: later })) as unknown as Made;
    assert.equal(cutProblem(later, { ...made }), undefined);
    assert.match(made.head, /conversation_summary/);
    assert.deepEqual(made.keep.slice(-4), [48, 49, 50, 51], "what came after the compaction stays");
    assert.ok(!made.keep.includes(0) && made.keep.length < all.length);
  });

  it("stores a conversation that the program had before, at its first request", async () => {
    await ask("earlier", "context", { messages: turns(0, 3) });
    await ask("earlier", "context", { messages: turns(0, 3) });
    assert.deepEqual(await stored("earlier", /^Question \d+/), names(0, 3));
  });

  it("refuses a compaction of nothing and a request without its fields, and counts what adapters report", async () => {
    const code = async (answer: Promise<Record<string, unknown>>): Promise<unknown> =>
      ((await answer)["error"] as Record<string, unknown>)["code"];
    assert.equal(
      await code(ask("small", "compact", { messages: [user("Hello")], reason: "auto" })),
      "nothing_to_compact",
    );
    assert.equal(await code(ask("", "append", { messages: [] })), "usage_invalid");
    assert.equal(await code(ask("small", "append", { messages: [{ role: "robot" }] })), "usage_invalid");
    assert.equal(await code(ask("small", "unknown")), "usage_invalid");
    assert.deepEqual(await ask("small", "hello", { version: "2.1.332" }), { protocol: 1 });
    await ask("small", "report", { hook: "recall", reason: "no host", count: 3 });
    const facts = adapterFacts(home).get("claude-code");
    assert.deepEqual(
      [facts?.version, facts?.fallbacks, facts?.lastFallback],
      ["2.1.332", 3, "recall: no host"],
    );
    assert.ok((facts?.compactions ?? 0) >= 4);
  });
});

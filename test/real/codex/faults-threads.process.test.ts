/** Threads that are deleted or held by another process, and Codex killed inside compactions: nothing lost, nothing twice. */
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { AppServers } from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { codexBinary } from "../codex-binary.ts";
import { conversation } from "./codex-bench.ts";
import { assertClear, failedWith, FaultBench } from "./fault-bench.ts";

const BEGUN = ["user: Begin.", "assistant: Answer 0.", "user: Go on.", "assistant: Answer 1."];
const ANSWERS = (_request: RecordedRequest, index: number): ReplyStep => ({ text: `Answer ${index}.` });

function threadOf(bench: FaultBench, index: number): string {
  return String(bench.request(index).body["prompt_cache_key"]);
}

/** Files that Codex keeps of a thread. */
function filesOf(bench: FaultBench, thread: string): string[] {
  const folder = join(bench.root, "codex");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.includes(thread) && name.endsWith(".jsonl"),
  );
  assert.ok(files.length > 0, "the thread has a file");
  return files;
}

function removeRollout(bench: FaultBench, thread: string): void {
  for (const file of filesOf(bench, thread)) rmSync(join(bench.root, "codex", file));
}

function noticesOf(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "notice" && event.kind === "codex_thread" ? [event.detail] : [],
  );
}

/** Another app-server of the user, with the same folder. */
function another(bench: FaultBench): AppServers {
  return new AppServers({ env: bench.env, command: codexBinary(), clientVersion: "0.0.0" });
}

/** How it resumes a thread of ours. */
function resumption(bench: FaultBench, threadId: string): object {
  const pagurus = { name: "pagurus", base_url: bench.server.url, wire_api: "responses" };
  return { threadId, config: { model_providers: { pagurus } } };
}

for (const slot of ["lossless", "legacy"])
  describe(`under ${slot}, a thread of the session that`, () => {
    let bench: FaultBench;
    let others: AppServers | undefined;
    afterEach(async () => {
      await others?.dispose();
      await bench.end();
    });

    async function begun(): Promise<Pagurus> {
      bench = await FaultBench.with(ANSWERS);
      const pagurus = await bench.host({ slot });
      await bench.ask(pagurus, "Begin.");
      await bench.ask(pagurus, "Go on.");
      return pagurus;
    }

    /** Asserts that the next turn has everything, on a new thread, and says why. */
    async function renewed(pagurus: Pagurus, why: RegExp): Promise<void> {
      const events = await bench.ask(pagurus, "And now?");
      assert.deepEqual(conversation(bench.request(-1)), [...BEGUN, "user: And now?"]);
      assert.notEqual(threadOf(bench, -1), threadOf(bench, 0));
      const [notice = "", ...more] = noticesOf(events);
      assertClear(notice, why);
      assert.deepEqual(more, []);
      await bench.goesOn(pagurus, [...BEGUN, "user: And now?", "assistant: Answer 2."], "And then?");
    }

    it("was deleted while no host ran is replaced by one with the whole conversation", async () => {
      await (await begun()).close();
      removeRollout(bench, threadOf(bench, 0));
      await renewed(
        await bench.host({ slot }),
        /^The Codex thread of this session is gone \(.*the turn continues in a new one/,
      );
    });

    it("another process has open is left alone, and replaced by one with the whole conversation", async () => {
      await (await begun()).close();
      const threadId = threadOf(bench, 0);
      others = another(bench);
      const theirs = await others.get();
      await theirs.request("thread/resume", resumption(bench, threadId));
      await renewed(
        await bench.host({ slot }),
        /^The Codex thread of this session is open in another process; the turn continues/,
      );
      for (const file of filesOf(bench, threadId)) assert.match(file, /^sessions\//, "not archived");
      await theirs.request("thread/inject_items", {
        threadId,
        items: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Still mine." }] }],
      });
    });

    it("was archived by another process loses nothing", async () => {
      await (await begun()).close();
      const threadId = threadOf(bench, 0);
      others = another(bench);
      await (await others.get()).request("thread/archive", { threadId });
      const pagurus = await bench.host({ slot });
      await bench.goesOn(pagurus, BEGUN);
      await bench.goesOn(pagurus, [...BEGUN, "user: And now?", "assistant: Answer 2."], "And then?");
    });
  });

describe("a thread that", () => {
  let bench: FaultBench;
  afterEach(() => bench.end());

  it("was deleted under a running host continues as long as that runs, and nothing is lost afterwards", async () => {
    bench = await FaultBench.with(ANSWERS);
    const pagurus = await bench.host();
    await bench.ask(pagurus, "Begin.");
    removeRollout(bench, threadOf(bench, 0));
    await bench.ask(pagurus, "Go on.");
    await pagurus.close();
    await bench.goesOn(await bench.host(), BEGUN);
  });
});

function isSummary({ headers }: RecordedRequest): boolean {
  return String(headers["x-codex-turn-metadata"]).includes('"request_kind":"compaction"');
}

describe("Codex killed", () => {
  let bench: FaultBench;
  afterEach(() => bench.end());

  it("while the engine compacts has no effect: the compaction is done, and the next turn has it", async () => {
    let kills = 0;
    const long = "The keeper of the quay wrote down which ships had come. ".repeat(40);
    bench = await FaultBench.with(async (request, index) => {
      if (request.headers["x-codex-turn-metadata"] !== undefined) return { text: `Answer ${index}. ${long}` };
      kills += 1;
      bench.killCodex();
      await bench.nothingLeft();
      return { text: "## Goal\n- The berths are looked after." };
    });
    const pagurus = await bench.host();
    for (const prompt of ["One?", "Two?", "Three?"]) await bench.ask(pagurus, prompt);
    const { compacted, reason } = await pagurus.compact({ cwd: bench.cwd });
    assert.equal(compacted, true, reason);
    await bench.ask(pagurus, "Four?");
    const shown = conversation(bench.request(-1));
    assert.equal(shown.at(-1), "user: Four?");
    assert.match(shown[0] ?? "", /^user: <conversation_summary>/);
    assert.equal(new Set(shown).size, shown.length, "nothing twice");
    assert.ok(kills > 0, "it was killed in between");
  });

  it("inside its own compaction before a turn fails the turn in one sentence, and nothing is lost", async () => {
    bench = await FaultBench.with((request, index) => {
      if (!isSummary(request))
        return {
          text: `Answer ${index}.`,
          ...(index === 0 ? { usage: { input: 300_000, output: 20 } } : {}),
        };
      bench.killCodex();
      return { hangAfterChunks: 0 };
    });
    const pagurus = await bench.host({ slot: "legacy" });
    await bench.ask(pagurus, "Begin.");
    const events = await bench.turn(pagurus, "Go on.");
    assert.ok(isSummary(bench.request(-1)), "it compacted");
    failedWith(events, "runtime_failed", /^Codex ended by SIGKILL\. .* starts Codex again\.$/);
    await bench.nothingLeft();
    await bench.goesOn(pagurus, ["user: Begin.", "assistant: Answer 0."], "Go on.");
  });

  it("inside a requested compaction is one sentence, and nothing is lost", async () => {
    bench = await FaultBench.with((request, index) => {
      if (!isSummary(request)) return { text: `Answer ${index}.` };
      bench.killCodex();
      return { hangAfterChunks: 0 };
    });
    const pagurus = await bench.host({ slot: "legacy" });
    await bench.ask(pagurus, "Begin.");
    await bench.ask(pagurus, "Go on.");
    const { compacted, reason = "" } = await pagurus.compact({ cwd: bench.cwd });
    assert.ok(isSummary(bench.request(-1)), "it compacted");
    assert.equal(compacted, false);
    assertClear(reason, /Codex ended by SIGKILL/);
    await bench.nothingLeft();
    await bench.goesOn(pagurus, BEGUN);
  });
});

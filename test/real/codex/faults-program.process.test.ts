/** The program is another version, no Codex at all, or not logged in: named clearly, and refused or used. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { PagurusError } from "../../../packages/contract/src/errors.ts";
import { AppServers } from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import { untriedNote } from "../../../packages/core/src/data/tried-programs.ts";
import { assertClear, failedWith, FaultBench } from "./fault-bench.ts";

const DRIFT = untriedNote("codex", "0.98.0") ?? "";

describe("a program that is", () => {
  let bench: FaultBench;
  afterEach(() => bench.end());

  it("another version of Codex is reported once, and turns run on it", async () => {
    bench = await FaultBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const pagurus = await bench.host({ command: bench.tapped({ version: "0.98.0" }) });
    const first = await bench.ask(pagurus, "Begin.");
    const second = await bench.ask(pagurus, "Go on.");
    const named = [...first, ...second].flatMap((event) =>
      event.type === "notice" && event.kind === "codex" ? [event.detail] : [],
    );
    assert.deepEqual(
      named.filter((detail) => detail.includes("0.98.0")),
      [DRIFT],
    );
    await bench.goesOn(pagurus, [
      "user: Begin.",
      "assistant: Answer 0.",
      "user: Go on.",
      "assistant: Answer 1.",
    ]);
  });

  it("another version that does not know a request is refused with both versions", async () => {
    bench = await FaultBench.with([]);
    const pagurus = await bench.host({
      command: bench.tapped({ version: "0.98.0", unknown: "thread/start" }),
    });
    const events = await bench.turn(pagurus, "Begin.");
    failedWith(
      events,
      "runtime_failed",
      /^Codex refused the turn: .*unknown variant.* Codex 0\.98\.0 runs, and/,
    );
    assert.equal(bench.server.requests.length, 0);
  });

  for (const [what, lines, words] of [
    ["gone at once", "exit 0", /: Codex ended with code 0; check that it is Codex, or name/],
    [
      "gone with a complaint",
      "echo 'unknown command app-server' >&2; exit 2",
      /ended with code 2; .*unknown command/,
    ],
    [
      "a chatterbox",
      "while echo 'Welcome to the menu!'; do :; done",
      /: its first 20 lines are not messages of Codex; check/,
    ],
    ["an echo of its input", "exec cat", /does not answer `initialize`/],
    [
      "polite but no Codex",
      `read line; echo '{"id":1,"result":{}}'; read line`,
      /its answer to initialize is not Codex's; check/,
    ],
  ] as const)
    it(`${what} is one sentence, and nothing of it is left`, async () => {
      bench = await FaultBench.with([]);
      const wrong = await bench.host({ command: bench.program(lines) });
      const events = await bench.turn(wrong, "Begin.");
      failedWith(events, "runtime_failed", words);
      await bench.nothingLeft();
    });

  it("no Codex leaves the session unchanged, and the right one continues it", async () => {
    bench = await FaultBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const wrong = await bench.host({ command: bench.program("exit 0") });
    failedWith(await bench.turn(wrong, "Begin."), "runtime_failed", /did not start/);
    await wrong.close();
    await bench.goesOn(await bench.host(), [], "Begin.");
  });

  it("silent times out within the deadline, and is ended with all that it started", async () => {
    bench = await FaultBench.with([]);
    const command = bench.program("sleep 300 & wait");
    const servers = new AppServers({ env: bench.env, command, clientVersion: "0.0.0", startDeadlineMs: 300 });
    const since = performance.now();
    await assert.rejects(servers.get(), (error: PagurusError) => {
      assertClear(error.message, /`initialize` was not answered within 300 ms; check that it is Codex/);
      return error.code === "runtime_failed";
    });
    assert.ok(performance.now() - since < 15_000);
    await bench.nothingLeft();
  });
});

describe("without a key of the host", () => {
  let bench: FaultBench;
  afterEach(() => bench.end());
  const MODEL = { model: "openai/gpt-5.5", runtime: "codex" };

  /** Codex's own configuration: its login is for the local endpoint. */
  function configured(): void {
    const provider = `{ name = "theirs", base_url = "${bench.server.url}", wire_api = "responses", requires_openai_auth = true, request_max_retries = 0, stream_max_retries = 0 }`;
    const lines = ['model_provider = "theirs"', "[model_providers]", `theirs = ${provider}`, ""];
    writeFileSync(join(bench.root, "codex", "config.toml"), lines.join("\n"));
  }

  it("and without a login of Codex a turn is refused, and the sentence says what to do", async () => {
    bench = await FaultBench.with([]);
    const pagurus = await bench.host();
    const events = await bench.turn(pagurus, "Begin.", () => undefined, MODEL);
    failedWith(
      events,
      "runtime_unsupported",
      /Codex is not logged in; set OPENAI_API_KEY, or run codex login/,
    );
    assert.deepEqual(bench.processes(), [], "nothing was started");
  });

  it("Codex's own login is used, and nothing of it is stored", async () => {
    bench = await FaultBench.with([{ text: "Answer 0." }, { status: 401 }]);
    configured();
    const login = JSON.stringify({ OPENAI_API_KEY: "their-own-key" });
    const file = join(bench.root, "codex", "auth.json");
    writeFileSync(file, login);
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "Begin.", MODEL);
    assert.equal(bench.request(0).headers["authorization"], "Bearer their-own-key");
    assert.equal(bench.request(0).body["model"], "gpt-5.5");
    assert.equal(readFileSync(file, "utf8"), login);
    assert.ok(!JSON.stringify(events).includes("their-own-key"));
    const refused = await bench.turn(pagurus, "Go on.", () => undefined, MODEL);
    failedWith(refused, "model_auth", /HTTP 401.* log in with `codex login`/);
  });
});

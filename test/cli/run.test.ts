import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import { command, fakeCli } from "./fake-cli.ts";
import { completed, failed, FakePagurus } from "./fake-pagurus.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";

const text = (delta: string): TurnEvent => ({ type: "text.delta", delta });
const answer = (words: string): TurnEvent => ({
  type: "message",
  message: { role: "assistant", content: [{ type: "text", text: words }] },
});

test("the answer goes to standard output and ends with one newline", async () => {
  const turns = [[text("Hello "), text("there"), answer("Hello there"), completed]];
  const result = await command(["run", "hi"], { script: { turns } });
  assert.deepEqual([result.code, result.out, result.err], [0, "Hello there\n", ""]);
  assert.equal(result.pagurus.requests[0]?.prompt, "hi");
  assert.equal(result.pagurus.closed, 1);
});

test("a runtime that does not stream still shows its text, once", async () => {
  const result = await command(["run", "hi"], { script: { turns: [[answer("All at once\n"), completed]] } });
  assert.equal(result.out, "All at once\n");
});

test("tool activity, notices and degradations go to standard error, each on a line", async () => {
  const turns: TurnEvent[][] = [
    [
      text("Looking"),
      { type: "tool.started", toolCallId: "c", toolName: "shell", arguments: { command: "ls\n-l" } },
      {
        type: "tool.completed",
        toolCallId: "c",
        toolName: "shell",
        outcome: {
          content: [{ type: "text", text: "no such\u001b[31m file\nmore" }],
          isError: true,
          details: { exitCode: 2 },
        },
      },
      { type: "notice", kind: "torn_line", detail: "A torn line was set aside." },
      { type: "context.degraded", stage: "assemble", reason: "threw", engineId: "e", turnId: "t" },
      completed,
    ],
  ];
  const result = await command(["run", "hi"], { script: { turns } });
  assert.equal(result.out, "Looking\n");
  assert.deepEqual(result.err.trimEnd().split("\n"), [
    "• shell ls -l",
    "  ✗ shell: exit 2, no such [31m file",
    "    more",
    "note: A torn line was set aside.",
    "degraded (assemble, engine e): threw",
  ]);
});

test("--json prints each event as one line, the end last", async () => {
  const turns = [[text("a"), completed, { type: "notice", kind: "late", detail: "late" } as TurnEvent]];
  const result = await command(["run", "hi", "--json"], { script: { turns } });
  const types = result.out
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as TurnEvent).type);
  assert.deepEqual(types, ["text.delta", "notice", "turn.completed"]);
});

test("--json ends with turn.failed when the host refuses to start or the turn is refused", async () => {
  const refusal = new PagurusError("config_invalid", "The file is broken.");
  const atTheDoor = await command(["run", "hi", "--json"], { open: () => Promise.reject(refusal) });
  assert.equal(atTheDoor.code, 2);
  assert.deepEqual(JSON.parse(atTheDoor.out), {
    type: "turn.failed",
    error: { code: "config_invalid", message: "The file is broken." },
    degraded: [],
  });
  const inTurn = await command(["run", "hi", "--json"], {
    script: { turns: [[failed("host_requirement", "No.")]] },
  });
  assert.equal(inTurn.code, 2);
  assert.equal(inTurn.out.trimEnd().split("\n").length, 1);
  const usage = await command(["run", "--json", "--nonsense", "hi"]);
  assert.equal((JSON.parse(usage.out) as { error: { code: string } }).error.code, "usage_invalid");
});

test("a failed turn is one line on standard error and exit 1", async () => {
  const turns = [[text("half"), failed("model_unavailable", "The endpoint\nis gone.")]];
  const result = await command(["run", "hi"], { script: { turns } });
  assert.deepEqual([result.code, result.out], [1, "half\n"]);
  assert.equal(result.err, "pagurus: The endpoint is gone. [model_unavailable]\n");
});

test("a turn that the limit of steps stopped exits 1, also with --json (finding A8)", async () => {
  for (const more of [[], ["--json"]]) {
    const turns = [[text("a"), { ...completed, stopReason: "max_steps" as const }]];
    assert.equal((await command(["run", "hi", ...more], { script: { turns } })).code, 1);
  }
});

test("codes of usage and configuration exit 2, an aborted turn 130, limits 1 (finding A8)", async () => {
  const codes: [string, number][] = [
    ["credential_missing", 2],
    ["model_unknown", 2],
    ["engine_unknown", 2],
    ["runtime_unsupported", 2],
    ["session_key_invalid", 2],
    ["cost_limit", 1],
    ["repeat_limit", 1],
    ["turn_deadline", 1],
    ["session_locked", 1],
    ["internal", 1],
    ["turn_aborted", 130],
  ];
  for (const [code, exit] of codes) {
    const result = await command(["run", "hi"], { script: { turns: [[failed(code, "x")]] } });
    assert.equal(result.code, exit, code);
  }
});

test("a turn without a final event is a failure", async () => {
  const result = await command(["run", "hi", "--json"], { script: { turns: [[text("a")]] } });
  assert.equal(result.code, 1);
  assert.match(result.out, /"type":"turn.failed".*\n$/);
});

test("the prompt comes from a pipe for - and for none", async () => {
  for (const argv of [["run"], ["run", "-"]]) {
    const { pagurus, code } = await command(argv, { input: "from a pipe\n" });
    assert.equal(code, 0);
    assert.equal(pagurus.requests[0]?.prompt, "from a pipe\n");
  }
});

test("options reach the request", async () => {
  const argv = [
    "run",
    "hi",
    "-s",
    "k",
    "-a",
    "other",
    "-m",
    "a/b",
    "--runtime",
    "codex",
    "-C",
    "/",
    "-p",
    "auto",
  ];
  const { pagurus } = await command(argv);
  const { signal, ...request } = pagurus.requests[0] ?? { prompt: "" };
  assert.ok(signal);
  assert.deepEqual(request, {
    prompt: "hi",
    parts: [],
    sessionKey: "k",
    oneShot: true,
    agentId: "other",
    model: "a/b",
    runtime: "codex",
    cwd: "/",
    permission: "auto",
  });
});

test("images are resolved where the command was typed and leave the prompt alone", async () => {
  const argv = ["run", "--image", "a.png", "-i", "b.png", "look", "--cwd", "/"];
  const { code, err } = await command(argv);
  assert.equal(code, 2);
  assert.match(
    err,
    /^pagurus: The file "\/[^"]+a\.png" cannot be attached: there is no such file; name another file\. \[attachment_invalid\]/,
  );
});

test("a mistake on the command line is one sentence and exit 2", async () => {
  const mistakes = [
    ["run"],
    ["run", "  "],
    ["run", "a", "b"],
    ["run", "hi", "--permission", "yolo"],
    ["run", "hi", "--cwd", "/does/not/exist"],
    ["run", "--session"],
    ["sesions", "list"],
    ["sessions", "shwo"],
    ["sessions", "show", "--last", "0"],
    ["sessions", "export", "main", "--format", "pdf"],
    ["sessions", "search", " "],
    ["completion", "tcsh"],
    ["config", "get", "a..b"],
  ];
  for (const argv of mistakes) {
    const result = await command(argv);
    assert.equal(result.code, 2, argv.join(" "));
    assert.match(result.err, /^pagurus: [^\n]+ \[usage_invalid\]\n$/, argv.join(" "));
    assert.equal(result.out, "");
  }
});

test("no command at all and a group without a command show help and exit 2", async () => {
  for (const argv of [[], ["sessions"], ["context"], ["config"]]) {
    const result = await command(argv);
    assert.deepEqual([result.code, result.out], [2, ""]);
    assert.match(result.err, /^Usage: pagurus/);
  }
});

test("every command has help with exit 0, and run and chat with examples", async () => {
  for (const argv of [
    ["--help"],
    ["run", "--help"],
    ["chat", "-h"],
    ["help", "sessions"],
    ["config", "set", "--help"],
  ]) {
    const result = await command(argv);
    assert.deepEqual([result.code, result.err], [0, ""]);
    assert.match(result.out, /^Usage: pagurus/);
  }
  assert.match((await command(["run", "--help"])).out, /Examples:/);
  assert.match((await command(["chat", "--help"])).out, /Ctrl-C/);
});

test("an interrupt aborts the turn and exits 130; the second one leaves at once", async () => {
  const pagurus = new FakePagurus({
    turns: [
      async function* (request) {
        yield text("thinking");
        cli.interrupt();
        assert.equal(request.signal?.aborted, true);
        cli.interrupt();
        yield failed("turn_aborted", "The turn was aborted.");
      },
    ],
  });
  const cli = fakeCli({ pagurus });
  assert.equal(await execute(["run", "hi"], cli), 130);
  assert.deepEqual(cli.exits, [130]);
  assert.equal(pagurus.closed, 1);
});

test("no permission prompt is shown without a terminal", async () => {
  const { cli } = await command(["run", "hi"], { input: "" });
  assert.equal(cli.options[0]?.askPermission, undefined);
});

test("text piped in beside a prompt becomes a part of the input, and no @word in it is a file", async () => {
  const { pagurus, err } = await command(["run", "Review this"], { input: "@@ -1 +1 @@\n+x\n" });
  assert.equal(pagurus.requests[0]?.prompt, "Review this");
  assert.deepEqual(pagurus.requests[0].parts, [
    { type: "text", text: "<stdin>\n@@ -1 +1 @@\n+x\n</stdin>", source: "standard input" },
  ]);
  assert.doesNotMatch(err, /note:/);
  for (const input of ["", " \n"]) {
    assert.deepEqual((await command(["run", "hi"], { input })).pagurus.requests[0]?.parts, []);
  }
});

test("a pipe that stays open and silent does not delay a prompt, and gets a note", async () => {
  const pagurus = new FakePagurus();
  const cli = { ...fakeCli({ pagurus }), stdin: new PassThrough() };
  assert.equal(await execute(["run", "hi"], cli), 0);
  assert.deepEqual(pagurus.requests[0]?.parts, []);
  assert.match(cli.err(), /note: standard input is open and sent nothing/);
});

test("warnings of the configuration are notes of every run", async () => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-notes-"));
  try {
    writeFileSync(join(home, "pagurus.json"), "{ agents: { defaults: { modle: 'a/b' } } }");
    const { err, code } = await command(["run", "hi"], { env: { PAGURUS_HOME: home } });
    assert.equal(code, 0);
    assert.match(
      err,
      /^note: agents\.defaults\.modle is not a known key; it is not used\. Did you mean model\?$/m,
    );
  } finally {
    rmSync(home, { recursive: true });
  }
});

test("--max-cost and --heartbeat are passed to the turn, and nothing without them", async () => {
  const { pagurus } = await command(["run", "hi", "--max-cost", "1.25", "--heartbeat"]);
  const [request] = pagurus.requests;
  assert.deepEqual([request?.maxCost, request?.heartbeat], [1.25, true]);
  const plain = (await command(["run", "hi"])).pagurus.requests[0] ?? {};
  assert.deepEqual(["maxCost" in plain, "heartbeat" in plain], [false, false]);
});

test("a --max-cost that is not an amount above 0 is refused before anything runs", async () => {
  for (const cost of ["0", "-1", "0.0", "much", "$2", "1e3", "Infinity", "NaN", "", " 1", "1,5", "."]) {
    const { code, err, pagurus } = await command(["run", "hi", `--max-cost=${cost}`]);
    assert.deepEqual([code, pagurus.requests.length], [2, 0], cost);
    assert.match(err, /--max-cost; use US dollars above 0, such as 0\.50\. \[usage_invalid\]\n$/);
  }
});

test("a turn that a cost limit stops is one line on standard error", async () => {
  const turns = [[failed("cost_limit", "The next request would cost $0.40; the turn may cost $0.25.")]];
  const { code, out, err } = await command(["run", "hi"], { script: { turns } });
  assert.deepEqual([code, out], [1, ""]);
  assert.equal(err, "pagurus: The next request would cost $0.40; the turn may cost $0.25. [cost_limit]\n");
});

test("run writes no gauge, and --json prints context and cost as they are", async () => {
  const end = { ...completed, context: { tokens: 5, budget: 10 }, cost: { turn: 0.5 } } as TurnEvent;
  const script = { turns: [[answer("Done."), end]] };
  const { out, err } = await command(["run", "hi"], { script });
  assert.deepEqual([out, err], ["Done.\n", ""]);
  const lines = (await command(["run", "hi", "--json"], { script })).out.trimEnd().split("\n");
  assert.deepEqual(JSON.parse(lines.at(-1) ?? ""), end);
});

const compaction = {
  lane: "in-attempt",
  trigger: "threshold",
  backend: "embedded",
  ownsCompaction: false,
} as const;
const compactions: TurnEvent[] = [
  { type: "compaction.started", ...compaction, tokensBefore: 182_000 },
  {
    type: "compaction.completed",
    ...compaction,
    tokensBefore: 182_000,
    tokensAfter: 41_000,
    handledBy: "legacy",
  },
  {
    type: "compaction.failed",
    ...compaction,
    tokensBefore: 900,
    handledBy: "legacy",
    reason: "The summary was empty.",
  },
];

test("a compaction is reported before and after, with the saved tokens", async () => {
  const { err, out } = await command(["run", "hi"], {
    script: { turns: [[...compactions, answer("ok"), completed]] },
  });
  assert.equal(out, "ok\n");
  assert.deepEqual(err.trimEnd().split("\n"), [
    "compacting 182,000 tokens (threshold)…",
    "compacted by legacy: 182,000 → 41,000 tokens (saved 141,000)",
    "compaction failed: The summary was empty.",
  ]);
});

test("notifyUser: false leaves only the compactions that failed, in run and in chat", async () => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-notify-"));
  try {
    const script = { turns: [[...compactions, answer("ok"), completed]] };
    const env = { PAGURUS_HOME: home };
    const config = (notifyUser: boolean): void =>
      writeFileSync(
        join(home, "pagurus.json"),
        JSON.stringify({ agents: { defaults: { compaction: { notifyUser } } } }),
      );
    config(false);
    const quiet = await command(["run", "hi"], { script, env });
    assert.equal(quiet.err, "compaction failed: The summary was empty.\n");
    const chat = await command(["chat"], { input: "hi\n", script, env });
    assert.doesNotMatch(chat.err, /compacting|compacted/);
    assert.match(chat.err, /^compaction failed: /m);
    const json = await command(["run", "hi", "--json"], { script, env });
    assert.match(json.out, /"compaction\.started"/);
    config(true);
    assert.match((await command(["run", "hi"], { script, env })).err, /^compacting .*\ncompacted by/m);
  } finally {
    rmSync(home, { recursive: true });
  }
});

test("subagents are reported in a line each", async () => {
  const childSessionKey = "main:subagent:1";
  const turns: TurnEvent[][] = [
    [
      { type: "subagent.started", childSessionKey, contextMode: "fork", depth: 1 },
      { type: "subagent.ended", childSessionKey, outcome: "completed" },
      { type: "subagent.ended", childSessionKey, outcome: "failed" },
      answer("ok"),
      completed,
    ],
  ];
  const { err } = await command(["run", "hi"], { script: { turns } });
  assert.deepEqual(err.trimEnd().split("\n"), [
    "• subagent main:subagent:1 (fork, depth 1)",
    "  ✓ subagent main:subagent:1: completed",
    "  ✗ subagent main:subagent:1: failed",
  ]);
});

test("an aborted run ends its line and reports the abort", async () => {
  const pagurus = new FakePagurus({
    turns: [
      async function* () {
        yield text("half");
        cli.interrupt();
        yield failed("turn_aborted", "The turn was aborted.");
      },
    ],
  });
  const cli = fakeCli({ pagurus });
  assert.equal(await execute(["run", "hi"], cli), 130);
  assert.deepEqual([cli.out(), cli.err()], ["half\n", "aborted\n"]);
});

test("--cwd reports whether its path is a file or missing", async () => {
  const file = await command(["run", "hi", "--cwd", "package.json"]);
  assert.match(file.err, /"package\.json" is a file, not a folder/);
  assert.match((await command(["run", "hi", "--cwd", "package.json/x"])).err, /does not exist/);
});

test("a host that cannot close does not change the outcome", async () => {
  const pagurus = new FakePagurus();
  pagurus.close = () => Promise.reject(new Error("no"));
  const cli = fakeCli({ pagurus });
  assert.equal(await execute(["run", "hi", "--json"], cli), 0);
  assert.equal(cli.out().trimEnd().split("\n").length, 1);
  assert.match(cli.err(), /closing failed: no/);
});

test("paths of a prompt that are not attached are named on standard error, in run (finding D9)", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-cli-"));
  try {
    writeFileSync(join(folder, "calc.js"), "one\ntwo\nthree\n");
    const prompt = "See @missing.md, @../x and @calc.js:1-2";
    const result = await command(["run", "--cwd", folder, prompt], {
      script: { turns: [[answer("Done."), completed]] },
    });
    assert.deepEqual(result.err.trimEnd().split("\n"), [
      'note: "@missing.md" is not attached: there is no such file in the workspace.',
      'note: "@../x" is not attached: it is outside the workspace.',
    ]);
    assert.match(JSON.stringify(result.pagurus.requests[0]?.parts), /calc\.js:1-2.*one\\ntwo\\n/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

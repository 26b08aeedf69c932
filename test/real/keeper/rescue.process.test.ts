/** Sessions of the real Claude Code that cannot continue, after `pagurus rescue`. */
import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { InsideBench } from "../inside/inside-bench.ts";

const TOO_LARGE = 6 * 1024 * 1024;

describe("a session of Claude Code that was rescued", { timeout: 300_000 }, () => {
  const open: InsideBench[] = [];
  after(async () => {
    for (const bench of open) await bench.end();
  });

  it("is resumed by the program, with every word once and nothing that the provider refuses", async () => {
    const bench = await InsideBench.open((nth) => ({ text: `Answer ${nth} about the harbour.` }));
    open.push(bench);
    const claude = bench.claude();
    await claude.send("Question one about the pier.");
    await claude.send("Question two about the crane.");
    await claude.end();
    const file = sessionFile(bench, claude.sessionId);
    const lines = readFileSync(file, "utf8");
    poison(file, lines);
    const before = readFileSync(file);

    const report = await bench.pagurus("rescue", file);
    assert.match(report, /image of 6\.0 MB/);
    assert.match(report, /half a character/);
    assert.match(report, /result belongs to no call/);
    assert.match(report, /no JSON object/);
    assert.ok(readFileSync(file).equals(before), "the original is as it was");

    const [, id = ""] = /claude --resume (\S+)/.exec(report) ?? [];
    const resumed = bench.claude(["--resume", id]);
    await resumed.send("Question three about the ship.");
    await resumed.end();
    const sent = bench.mains.at(-1)?.text ?? "";
    for (const words of [
      "Question one about the pier.",
      "Question two about the crane.",
      "Answer 1 about the harbour.",
      "Answer 2 about the harbour.",
      "Question three about the ship.",
      "the end of a word",
    ])
      assert.equal(sent.split(words).length, 2, `${words} once`);
    assert.doesNotMatch(sent, /A{1000}|\\ud83d(?!\\ud)|"tool_use_id":"toolu_missing"/);
    assert.match(sent, /An image \(image\/png, 6\.0 MB\) was left out/);
  });
});

function sessionFile(bench: InsideBench, id: string): string {
  const projects = join(bench.config, "projects");
  const [folder = ""] = readdirSync(projects);
  return join(projects, folder, `${id}.jsonl`);
}

/** Adds a message with a large image, half a character and a result without a call, and half a line. */
function poison(file: string, lines: string): void {
  const values = lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const last = values.findLast(({ type }) => type === "user" || type === "assistant") ?? {};
  const data = "A".repeat(Math.ceil((TOO_LARGE * 4) / 3));
  const message = {
    role: "user",
    content: [
      { type: "image", source: { type: "base64", media_type: "image/png", data } },
      { type: "text", text: "the end of a word \ud83d" },
      { type: "tool_result", tool_use_id: "toolu_missing", content: "a lost result" },
    ],
  };
  const user = values.find(({ type }) => type === "user") ?? {};
  const added = { ...user, message, uuid: "aaaaaaaa-0000-4000-8000-000000000001", parentUuid: last["uuid"] };
  writeFileSync(file, lines);
  appendFileSync(file, `${JSON.stringify(added)}\n{"type":"user","mess`);
}

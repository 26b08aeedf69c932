import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplayProgress } from "../../packages/cli/src/context/replay-progress.ts";
import { fakeCli } from "./fake-cli.ts";

const FILES = [
  { path: "/sessions/one.jsonl", bytes: 300 },
  { path: "/sessions/two.jsonl", bytes: 100 },
];

test("a terminal shows the share of the bytes that are replayed with each engine, and no line is left at the end", () => {
  const cli = fakeCli({ env: { NO_COLOR: "1" } });
  cli.stderr.isTTY = true;
  const progress = new ReplayProgress(cli, FILES);
  progress.expects(2);
  progress.at({ file: "/sessions/one.jsonl", engine: "0 a", share: 1 });
  assert.match(cli.err(), /█{9}░{15} 37 % one\.jsonl$/);
  progress.leftOut("/sessions/two.jsonl");
  progress.at({ file: "/sessions/one.jsonl", engine: "1 b", share: 0.5 });
  assert.match(cli.err(), /75 % one\.jsonl$/);
  progress.end();
  assert.ok(cli.err().endsWith("\r\u001b[K"));
});

test("a pipe gets no progress", () => {
  const cli = fakeCli();
  const progress = new ReplayProgress(cli, FILES);
  progress.at({ file: "/sessions/one.jsonl", engine: "0 a", share: 1 });
  progress.end();
  assert.equal(cli.err(), "");
});

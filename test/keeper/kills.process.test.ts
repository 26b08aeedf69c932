/**
 * A keeper that is killed again and again while programs append, rewrite, shorten, rename and remove their files. What a file had when the
 * keeper had time to see it is kept, once; each loss at the source is reported.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { random } from "../runner/seeded-random.ts";
import { byLength } from "../runner/short-form.ts";
import { until, untilWithin } from "../runner/until.ts";
import { claudeLine, KeptHome } from "./kept-home.ts";

const KILLS = byLength(2_000, 12, 4);
const LOSSES = byLength(200, 20, 8);
const FILES = 6;
/** From the change at the source to the event, ms: what the issue demands. */
const REPORTED_MS = byLength(10_000, 60_000, 60_000);

interface Child {
  process: ChildProcess;
  lines: string[];
}

async function startKeeper(home: KeptHome): Promise<Child> {
  const script = join(import.meta.dirname, "watched.child.ts");
  const child = spawn(process.execPath, [script, home.folder, home.path("pagurus")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const started: Child = { process: child, lines: [] };
  child.stdout.setEncoding("utf8").on("data", (text: string) => started.lines.push(...text.split("\n")));
  await Promise.resolve();
  return started;
}

async function stop({ process: child }: Child, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

function fileOf(number: number): string {
  return `.claude/projects/-p${number % 2}/${number}1111111-1111-4111-8111-111111111111.jsonl`;
}

/** Every line of every version of every file. */
function keptLines(home: KeptHome): Map<string, number> {
  const { archive } = home.keeper;
  const counts = new Map<string, number>();
  for (const { id } of archive.files())
    for (const { version, shared } of archive.versions(id))
      for (const line of archive
        .bytes(id, version)
        .subarray(version === 1 ? 0 : lineStart(archive.bytes(id, version), shared))
        .toString("utf8")
        .split("\n"))
        counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

function lineStart(bytes: Buffer, offset: number): number {
  return offset === 0 ? 0 : bytes.lastIndexOf(10, offset - 1) + 1;
}

test(`${KILLS} kills of the keeper lose no word and double none`, async () => {
  const home = new KeptHome();
  home.keeper.close();
  const next = random(20_261_130);
  const written = new Set<string>();
  let number = 0;
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = await startKeeper(home);
      const size = 1 + Math.floor(next() * 6);
      const isLate = next() < 0.5;
      if (isLate) await until(() => child.lines.includes("ready"), "the keeper did not start");
      for (let at = 0; at < size; at += 1) {
        const words = `line ${(number += 1)} of the test ${"x".repeat(Math.floor(next() * 4_000))}`;
        const line = claudeLine(number, words);
        written.add(line.slice(0, -1));
        const path = home.path(fileOf(number % FILES));
        if (!existsSync(path)) home.write(fileOf(number % FILES), line);
        else if (next() < 0.3) {
          // Half of the line, and the rest a moment later.
          appendFileSync(path, line.slice(0, 40));
          await pause(next() * 5);
          appendFileSync(path, line.slice(40));
        } else appendFileSync(path, line);
      }
      if (next() < 0.2) renameAFile(home, next, number);
      await pause(next() * 120);
      await stop(child, "SIGKILL");
    }
    home.keeper = home.open();
    await home.keeper.pass();
    const kept = keptLines(home);
    assert.deepEqual(
      [...written].filter((line) => kept.get(line) !== 1).map((line) => [line.slice(0, 300), kept.get(line)]),
      [],
    );
    using words = home.words();
    const numbers = words
      .conversations()
      .flatMap(({ id }) =>
        [...words.records(id)].flatMap(({ parts }) =>
          parts.map(({ text }) => /^line (\d+) /.exec(text)?.[1]),
        ),
      );
    assert.equal(numbers.length, number);
    assert.equal(new Set(numbers).size, number);
    assert.equal(home.keeper.archive.damaged, 0);
    assert.deepEqual(
      home.events().filter((event) => !event.startsWith("renamed")),
      [],
    );
  } finally {
    home[Symbol.dispose]();
  }
});

function renameAFile(home: KeptHome, next: () => number, number: number): void {
  const from = home.path(fileOf(Math.floor(next() * FILES)));
  if (existsSync(from)) renameSync(from, from.replace(".jsonl", `-${number}.jsonl`));
}

test(`${LOSSES} losses at the source are reported by the keeper that runs, and lose nothing`, async () => {
  const home = new KeptHome();
  home.keeper.close();
  const next = random(7);
  const written = new Set<string>();
  const child = await startKeeper(home);
  try {
    await until(() => child.lines.includes("ready"), "the keeper did not start");
    for (let loss = 0; loss < LOSSES; loss += 1) {
      const path = home.write(fileOf(loss).replace(".jsonl", `-${loss}.jsonl`), "");
      const lines = Array.from({ length: 5 }, (_, at) => claudeLine(at, `word ${loss} ${at}`));
      for (const line of lines) {
        written.add(line.slice(0, -1));
        appendFileSync(path, line);
      }
      await until(() => keptBytes(home, path) === lines.join("").length, "the file was not kept");
      const kind = (["removed", "truncated", "rewritten"] as const)[Math.floor(next() * 3)] ?? "removed";
      if (kind === "removed") rmSync(path);
      else if (kind === "truncated") truncateSync(path, lines[0]?.length ?? 0);
      else writeFileSync(path, claudeLine(9, `rewritten ${loss}`));
      await untilWithin(
        REPORTED_MS,
        // A program that rewrites a file in place shortens it first: the keeper may see that moment.
        () =>
          child.lines.some(
            (line) =>
              line.endsWith(path) &&
              (line.startsWith(kind) || (kind === "rewritten" && line.startsWith("truncated"))),
          ),
        () => `${kind} was not reported: ${child.lines.slice(-5).join(" / ")}`,
      );
    }
    await stop(child, "SIGTERM");
    home.keeper = home.open();
    await home.keeper.pass();
    const kept = keptLines(home);
    assert.deepEqual(
      [...written].filter((line) => kept.get(line) !== 1),
      [],
    );
  } finally {
    await stop(child, "SIGKILL");
    home[Symbol.dispose]();
  }
});

function keptBytes(home: KeptHome, path: string): number {
  if (!existsSync(home.path("pagurus/keeper/index.db"))) return 0;
  using words = home.words();
  return words.archive.fileAt(path)?.size ?? 0;
}

test("a large file that is rewritten in place to a small one keeps every answer of before", async () => {
  const home = new KeptHome();
  home.keeper.close();
  const child = await startKeeper(home);
  try {
    await until(() => child.lines.includes("ready"), "the keeper did not start");
    const path = home.write(fileOf(1), "");
    const count = byLength(200_000, 4_000, 2_000);
    for (let at = 0; at < count; at += 1_000)
      appendFileSync(
        path,
        Array.from({ length: 1_000 }, (_, index) =>
          claudeLine(at + index, `answer ${at + index} ${"y".repeat(2_000)}`),
        ).join(""),
      );
    const size = readFileSync(path).length;
    await until(() => keptBytes(home, path) === size, "the file was not kept");
    writeFileSync(path, claudeLine(0, "a summary"));
    await until(
      () => child.lines.some((line) => /^(?:rewritten|truncated)/.test(line)),
      "the rewrite was not reported",
    );
    await stop(child, "SIGTERM");
    home.keeper = home.open();
    await home.keeper.pass();
    using words = home.words();
    const [conversation] = words.conversations();
    assert.equal(conversation?.messages, count + 1);
    assert.equal(words.search(`answer ${count - 1}`, {}).length, 1);
  } finally {
    await stop(child, "SIGKILL");
    home[Symbol.dispose]();
  }
});

/**
 * `bench keep`: the first look at many conversations, what a new line costs until it is found, the search, and what the archive takes. The
 * conversations are made of words with the frequencies of a language, in the lines that Claude Code writes.
 */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SYSTEM_CLOCK } from "../../packages/core/src/data/clock.ts";
import { KeepWatch } from "../../packages/keeper/src/keep-watch.ts";
import { Keeper } from "../../packages/keeper/src/keeper.ts";
import { keeperPlace } from "../../packages/keeper/src/keeper-place.ts";
import { KeptWords } from "../../packages/keeper/src/words/kept-words.ts";
import { random } from "../../test/runner/seeded-random.ts";
import { withTarget, type BenchOptions, type BenchRow } from "../report.ts";

interface Size {
  sessions: number;
  lines: number;
  searches: number;
  newLines: number;
  idleSeconds: number;
}

/** 5 GB in lines of about 1.7 kB. */
const FULL: Size = { sessions: 20_000, lines: 150, searches: 200, newLines: 40, idleSeconds: 120 };
const QUICK: Size = { sessions: 30, lines: 40, searches: 10, newLines: 2, idleSeconds: 1 };
const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

/** Words of a vocabulary whose frequencies fall with their rank, as in a language. */
function speaker(seed: number): (words: number) => string {
  const next = random(seed);
  const word = (rank: number): string => (rank * 7_919_177 + 1_017).toString(36);
  return (words) =>
    Array.from({ length: words }, () => word(Math.floor(Math.exp(next() * Math.log(60_000))))).join(" ");
}

/** Phrases that come again, as the code and the commands of a project do, between new words. */
function writer(seed: number): () => string {
  const next = random(seed);
  const speak = speaker(seed + 1);
  const phrases = Array.from({ length: 4_000 }, () => speak(3 + Math.floor(next() * 12)));
  return () =>
    Array.from({ length: 16 }, () =>
      next() < 0.2 ? speak(5) : (phrases[Math.floor(Math.exp(next() * Math.log(phrases.length)))] ?? ""),
    ).join("\n");
}

function line(session: string, number: number, text: string): string {
  const role = number % 2 === 0 ? "user" : "assistant";
  return `${JSON.stringify({
    parentUuid: number === 0 ? null : `${session}-${number - 1}`,
    isSidechain: false,
    userType: "external",
    cwd: `/home/ada/work/${session.slice(0, 2)}`,
    sessionId: session,
    version: "2.1.330",
    gitBranch: "main",
    type: role,
    // Results of tools are twice in such a line.
    ...(number % 4 === 2
      ? {
          message: {
            role,
            content: [{ type: "tool_result", tool_use_id: `toolu_${number}`, content: text }],
          },
          toolUseResult: { stdout: text, stderr: "", interrupted: false, isImage: false },
        }
      : { message: { role, content: [{ type: "text", text }] } }),
    uuid: `${session}-${number}`,
    timestamp: new Date(Date.parse("2026-01-01T00:00Z") + number * 1_000).toISOString(),
  })}\n`;
}

function makeSessions(home: string, { sessions, lines }: Size, log: (text: string) => void): number {
  const write = writer(11);
  let bytes = 0;
  for (let at = 0; at < sessions; at += 1) {
    const id = `${String(at).padStart(8, "0")}-1111-4111-8111-111111111111`;
    const folder = join(home, ".claude/projects", `-work-${at % 100}`);
    mkdirSync(folder, { recursive: true });
    const content = Array.from({ length: lines }, (_, number) => line(id, number, write())).join("");
    writeFileSync(join(folder, `${id}.jsonl`), content);
    bytes += content.length;
    if (at % 1_000 === 999) log(`${at + 1} sessions written`);
  }
  return bytes;
}

function percentile(values: readonly number[], share: number): number {
  return (
    values.toSorted((one, other) => one - other)[
      Math.min(values.length - 1, Math.floor(values.length * share))
    ] ?? 0
  );
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function searchTimes(words: KeptWords, count: number): number[] {
  const speak = speaker(23);
  return Array.from({ length: count }, () => {
    const query = speak(2);
    const start = performance.now();
    words.search(query, { limit: 20 });
    return performance.now() - start;
  });
}

/** Milliseconds from a new line to the moment at which a search has it. */
async function newLineTimes(words: KeptWords, file: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const term = `fresh${at}x${file.length}`;
    const start = performance.now();
    appendFileSync(file, line("00000000-1111-4111-8111-111111111111", 1_000 + at, `a ${term} word`));
    while (words.search(term, {}).length === 0) await pause(2);
    times.push(performance.now() - start);
  }
  return times;
}

export async function run({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const size = quick
    ? QUICK
    : { ...FULL, sessions: Number(process.env["PAGURUS_BENCH_SESSIONS"] ?? FULL.sessions) };
  const home = mkdtempSync(join(tmpdir(), "keep-bench-"));
  const place = keeperPlace(join(home, "pagurus"));
  const keeper = Keeper.open({ place, env: { HOME: home }, clock: SYSTEM_CLOCK });
  try {
    const bytes = makeSessions(home, size, log);
    let most = 0;
    const sampler = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50);
    const cpu = process.cpuUsage();
    const start = performance.now();
    const ready = Promise.withResolvers<void>();
    const watch = new KeepWatch(keeper, { ready: () => ready.resolve() });
    const running = watch.run();
    await ready.promise;
    const seconds = (performance.now() - start) / 1_000;
    const used = process.cpuUsage(cpu);
    clearInterval(sampler);
    log(`first look: ${seconds.toFixed(1)} s`);
    const words = new KeptWords(place.folder, { HOME: home });
    await pause(2_000);
    const idle = process.cpuUsage();
    await pause(size.idleSeconds * 1_000);
    const idled = process.cpuUsage(idle);
    const [folder = ""] = readdirSync(join(home, ".claude/projects"));
    const [name = ""] = readdirSync(join(home, ".claude/projects", folder));
    const fresh = await newLineTimes(words, join(home, ".claude/projects", folder, name), size.newLines);
    const searches = searchTimes(words, size.searches);
    words.close();
    watch.stop();
    await running;
    const archived = sizeOf(place.folder);
    const gib = bytes / GIB;
    const row = (measure: string, value: number, unit: string): BenchRow => ({ measure, value, unit });
    return [
      row("conversations", size.sessions, "files"),
      withTarget(row("first look, wall", seconds / gib, "s/GiB"), "<=", 60),
      row("first look, processor", (used.user + used.system) / 1e6 / gib, "s/GiB"),
      withTarget(row("most memory of the first look", most / MIB, "MiB"), "<=", 400),
      withTarget(
        row("idle, of a core", ((idled.user + idled.system) / 1e6 / size.idleSeconds) * 100, "%"),
        "<=",
        0.2,
      ),
      withTarget(row("new line to hit, median", percentile(fresh, 0.5), "ms"), "<=", 300),
      withTarget(row("search, p95", percentile(searches, 0.95), "ms"), "<=", 20),
      withTarget(row("archive and index, of the source", archived / bytes, ""), "<=", 0.5),
    ];
  } finally {
    keeper.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** `pagurus context replay` as a user runs it: the table of three sessions, and the time for 100 MB of them. */
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../scripts/command.ts";
import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";
import { formatLine } from "../../packages/host/src/stores/files/transcript/transcript-entry.ts";
import type { ReplayReport } from "../../packages/replay/src/replay-figures.ts";
import { generateTranscript } from "../generate.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../report.ts";
import { CODING_SESSIONS } from "./replay/claude-code.ts";

const ROOT = join(import.meta.dirname, "../..");
const ENGINES = ["lossless", "legacy", join(ROOT, "examples/newest-turns")];
const BYTES = 100_000_000;
const QUICK_BYTES = 8_000_000;
const MOST_SECONDS = 60;
/** Of a generated session; about as long as a recorded one. */
const MESSAGES = 800;

/** The recorded sessions, or generated ones in their place. */
function sourcesIn(folder: string, log: BenchOptions["log"]): string[] {
  if (existsSync(CODING_SESSIONS)) {
    const files = globSync("*.jsonl", { cwd: CODING_SESSIONS }).filter(
      (file) => !file.includes("_subagents_"),
    );
    return files.toSorted().map((file) => join(CODING_SESSIONS, file));
  }
  log("context: THE RECORDED SESSIONS ARE NOT THERE: generated ones are replayed in their place");
  return [1, 2, 3].map((seed) => {
    const file = join(folder, `generated-${seed}.jsonl`);
    writeFileSync(file, transcriptOf(seed));
    return file;
  });
}

function transcriptOf(seed: number): Buffer {
  const id = "mfk3x9a2b0001234";
  const timestamp = new Date(0).toISOString();
  const lines = [formatLine({ type: "session", version: 3, id, timestamp, cwd: "/", key: "main" })];
  let parentId: string | null = null;
  for (const [index, { entryId: _, ...message }] of generateTranscript({
    seed,
    messages: MESSAGES,
  }).entries()) {
    const entry: TranscriptEntry = { type: "message", id: `e${index}`, parentId, timestamp, message };
    lines.push(formatLine(entry));
    parentId = entry.id;
  }
  return Buffer.concat(lines);
}

/** Copies of the sources, until they have so many bytes. */
function filled(folder: string, sources: readonly string[], bytes: number): void {
  mkdirSync(folder);
  let size = 0;
  for (let copy = 1; size < bytes; copy++) {
    for (const [index, source] of sources.entries()) {
      if (size >= bytes) break;
      copyFileSync(source, join(folder, `${index}-${copy}.jsonl`));
      size += statSync(source).size;
    }
  }
}

async function replayed(
  paths: { home: string; target: string },
  engines: readonly string[],
): Promise<{ seconds: number; report: ReplayReport }> {
  const args = ["bin/pagurus.js", "context", "replay", paths.target, "--json"];
  const named = engines.flatMap((engine) => ["--engine", engine]);
  const env = { PATH: process.env["PATH"], HOME: paths.home, PAGURUS_HOME: join(paths.home, ".pagurus") };
  const start = performance.now();
  const { code, stdout, stderr } = await runCommand(process.execPath, [...args, ...named], {
    cwd: ROOT,
    env,
  });
  if (code !== 0) throw new Error(`The replay ended with ${code}: ${stderr}`);
  return { seconds: (performance.now() - start) / 1_000, report: JSON.parse(stdout) as ReplayReport };
}

export async function replayCommandRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-replayed-"));
  try {
    const home = join(folder, "home");
    mkdirSync(home);
    const sources = sourcesIn(folder, log);
    const [three, many] = [join(folder, "three"), join(folder, "many")];
    filled(three, sources, 1 + sources.slice(0, -1).reduce((sum, file) => sum + statSync(file).size, 0));
    const { report } = await replayed({ home, target: three }, ENGINES);
    const rows = report.engines.flatMap(({ id, figures }) =>
      figures.flatMap(({ name, value, unit }): BenchRow[] =>
        value === undefined
          ? []
          : [{ measure: `replay of ${report.sessions.length} sessions, ${id}: ${name}`, value, unit }],
      ),
    );
    const bytes = quick ? QUICK_BYTES : BYTES;
    filled(many, sources, bytes);
    for (const engines of [ENGINES.slice(0, 1), ENGINES]) {
      const { seconds } = await replayed({ home, target: many }, engines);
      const measure = `replay of ${bytes / 1_000_000} MB with ${engines.length === 1 ? "one engine" : "three engines"}`;
      log(`${measure}: ${seconds.toFixed(1)} s`);
      rows.push(withTarget({ measure, value: seconds, unit: "s" }, "<=", MOST_SECONDS));
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

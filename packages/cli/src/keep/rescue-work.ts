/** `rescue`: a session of another program that cannot continue, as a new session that can. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { shellWord } from "@pagurus/core/platform/shell-word";
import { plural } from "@pagurus/core/data/plain-numbers";
import type { Archive, FileRow } from "@pagurus/keeper/archive/archive";
import { rescueClaudeCode } from "@pagurus/keeper/rescue/rescue-claude-code";
import { rescueCodex } from "@pagurus/keeper/rescue/rescue-codex";
import type { Rescued } from "@pagurus/keeper/rescue/rescued";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { writeNewFile } from "../new-file.ts";
import { keptVersion, lookAtArchive } from "./keep-work.ts";

export interface RescueOptions {
  output?: string;
  dryRun?: boolean;
  version?: number;
  json?: boolean;
}

interface Format {
  rescue: (content: Buffer, id: string) => Rescued;
  /** Name of a session's file. */
  name: (id: string, now: Date) => string;
  resume: (id: string) => string;
}

const SESSION_FORMATS: Readonly<Record<"claude-code" | "codex", Format>> = {
  "claude-code": {
    rescue: rescueClaudeCode,
    name: (id) => `${id}.jsonl`,
    resume: (id) => `claude --resume ${id}`,
  },
  codex: {
    rescue: rescueCodex,
    name: (id, now) => `rollout-${now.toISOString().slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`,
    resume: (id) => `codex resume ${id}`,
  },
};

/** `rescue`. The original is only read. */
export async function rescueSession(cli: Cli, file: string, options: RescueOptions): Promise<number> {
  const path = resolve(cli.cwd, file);
  const content = contentOf(cli, path, options.version);
  const format = SESSION_FORMATS[formatOf(path, content)];
  const id = randomUUID();
  const { lines, findings } = format.rescue(content, id);
  if (lines.length === 0)
    throw usageError(`No line of ${path} can be read; it is no session of Claude Code or Codex.`);
  const output = options.output ?? join(dirname(path), format.name(id, new Date()));
  if (options.dryRun !== true) await writeNewFile(cli.cwd, output, textOf(lines));
  if (options.json === true) {
    printJson(cli, { findings, ...(options.dryRun === true ? {} : { id, output }) });
    return EXIT_DONE;
  }
  if (findings.length === 0) printLine(cli.stdout, "Nothing was found that keeps it from continuing.");
  for (const { line, text } of findings)
    printLine(cli.stdout, line === undefined ? text : `Line ${line}: ${text}`);
  if (options.dryRun === true) return EXIT_DONE;
  printLine(cli.stdout, `Wrote ${plural(lines.length, "line")} to ${output}; the original is as it was.`);
  printLine(cli.stdout, `Continue with: ${format.resume(shellWord(id))}`);
  return EXIT_DONE;
}

/** The file as it is, or as it is kept where it is gone or a version is asked for. */
function contentOf(cli: Cli, path: string, version: number | undefined): Buffer {
  if (version === undefined && existsSync(path)) return readFileSync(path);
  const archive = lookAtArchive(cli);
  try {
    return keptContent(archive, archive.fileAt(path), { path, version });
  } finally {
    archive.close();
  }
}

function keptContent(
  archive: Archive,
  file: FileRow | undefined,
  { path, version }: { path: string; version: number | undefined },
): Buffer {
  if (!file) throw usageError(`There is no file ${path}, and none is kept.`);
  return archive.bytes(file.id, keptVersion(archive, file, version));
}

function formatOf(path: string, content: Buffer): "claude-code" | "codex" {
  if (basename(path).startsWith("rollout-")) return "codex";
  return content.subarray(0, 4_096).includes('"type":"session_meta"') ? "codex" : "claude-code";
}

async function* textOf(lines: readonly object[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`);
}

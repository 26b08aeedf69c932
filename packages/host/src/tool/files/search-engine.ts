/** Two search implementations: ripgrep where installed, and plain Node with the same results in the same order. */
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createContext, Script } from "node:vm";
import { killGroup, spawnGroup } from "@pagurus/core/platform/process-group";
import { openInPlace } from "@pagurus/core/platform/open-in-place";
import { isBinary, textDecoderFor } from "./file-access.ts";
import { systemCode, ToolError } from "../tool-error.ts";
import { SKIPPED_FOLDERS, walkFiles } from "./folder-walk.ts";

export interface SearchQuery {
  /** Absolute: a folder, or one file. */
  start: string;
  isFolder: boolean;
  pattern: string;
  ignoreCase: boolean;
  /** Whether to search a file; absolute path. */
  wanted(path: string): boolean;
}

export interface SearchHit {
  path: string;
  /** From 1. */
  line: number;
  text: string;
}

const MOST_FILE_BYTES = 16 * 1024 * 1024;
/** Timeout per file in plain Node: a pattern with endless backtracking must not block the process. */
const MATCH_DEADLINE_MS = 2_000;

/** Converts the pattern to JavaScript; Rust's leading `(?i)` flags are supported. Throws `ToolError`. */
function compilePattern(pattern: string, ignoreCase: boolean): RegExp {
  const inline = /^\(\?([ims]+)\)/.exec(pattern);
  const flags = new Set(`gm${ignoreCase ? "i" : ""}${inline?.[1] ?? ""}`);
  const source = pattern.slice(inline?.[0].length ?? 0);
  for (const unicode of ["u", ""]) {
    try {
      return new RegExp(source, [...flags].join("") + unicode);
    } catch {
      continue;
    }
  }
  throw new ToolError(`The pattern "${pattern}" is not a valid regular expression.`);
}

/** Matches in a separate context, where V8 stops a runaway expression at a deadline. */
function lineMatcher(expression: RegExp): (text: string) => SearchHit["line"][] {
  const context = createContext({ text: "", expression, numbers: [] });
  const script = new Script(`{
    numbers = [];
    let number = 0;
    for (const line of text.split("\\n")) {
      number += 1;
      expression.lastIndex = 0;
      if (expression.test(line.endsWith("\\r") ? line.slice(0, -1) : line)) numbers.push(number);
    }
    numbers.join(",");
  }`);
  return (text) => {
    context["text"] = text;
    const joined: unknown = script.runInContext(context, { timeout: MATCH_DEADLINE_MS });
    return typeof joined === "string" && joined !== "" ? joined.split(",").map(Number) : [];
  };
}

async function readSearchable(path: string): Promise<string | undefined> {
  let file;
  try {
    file = await openInPlace(path);
  } catch {
    // A link, a replaced or an unreadable file: ripgrep skips them too.
    return undefined;
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > MOST_FILE_BYTES) return undefined;
    const bytes = await file.readFile();
    return isBinary(bytes) ? undefined : textDecoderFor(bytes).decode(bytes);
  } finally {
    await file.close();
  }
}

async function* oneFile(path: string): AsyncGenerator<string, void, void> {
  yield path;
}

export async function* searchWithNode(
  query: SearchQuery,
  signal: AbortSignal,
): AsyncGenerator<SearchHit, void, void> {
  const matchingLines = lineMatcher(compilePattern(query.pattern, query.ignoreCase));
  for await (const path of query.isFolder ? walkFiles(query.start, signal) : oneFile(query.start)) {
    signal.throwIfAborted();
    if (!query.wanted(path)) continue;
    const text = await readSearchable(path);
    if (text === undefined) continue;
    let numbers: number[];
    try {
      numbers = matchingLines(text.endsWith("\n") ? text.slice(0, -1) : text);
    } catch (error) {
      if (systemCode(error) !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new ToolError(`The pattern takes too long on "${path}"; write it without nested repetition.`);
    }
    if (numbers.length === 0) continue;
    const lines = text.split("\n");
    for (const line of numbers) yield { path, line, text: (lines[line - 1] ?? "").replace(/\r$/, "") };
  }
}

function ripgrepArguments(query: SearchQuery): string[] {
  const within = query.start.split("/");
  return [
    "--json",
    "--no-config",
    "--hidden",
    "--sort=path",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-ignore-dot",
    `--max-filesize=${MOST_FILE_BYTES}`,
    ...SKIPPED_FOLDERS.filter((name) => !within.includes(name)).map((name) => `--glob=!**/${name}/**`),
    ...(query.ignoreCase ? ["--ignore-case"] : []),
    `--regexp=${query.pattern}`,
    "--",
    query.isFolder ? "." : basename(query.start),
  ];
}

function textOf(value: { text?: string; bytes?: string } | undefined): string | undefined {
  if (value?.text !== undefined) return value.text;
  return value?.bytes === undefined ? undefined : Buffer.from(value.bytes, "base64").toString("utf8");
}

interface RipgrepLine {
  type: string;
  data: {
    path?: { text?: string; bytes?: string };
    line_number?: number;
  };
}

/** Throws `ToolError` where ripgrep refuses the pattern; the caller may try plain Node. */
export async function* searchWithRipgrep(
  program: string,
  query: SearchQuery,
  signal: AbortSignal,
): AsyncGenerator<SearchHit, void, void> {
  const folder = query.isFolder ? query.start : dirname(query.start);
  const child = spawnGroup(program, ripgrepArguments(query), {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  ended.catch(() => undefined);
  const stop = (): void => killGroup(child, "SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  let hits = 0;
  let current: { path: string; lines: string[] | undefined } | undefined;
  try {
    if (!child.stdout) throw new ToolError("ripgrep gave no output.");
    for await (const row of createInterface({ input: child.stdout })) {
      const { type, data } = JSON.parse(row) as RipgrepLine;
      const name = textOf(data.path);
      const line = data.line_number;
      if (type !== "match" || name === undefined || line === undefined) continue;
      const path = join(folder, name);
      if (!query.wanted(path)) continue;
      hits += 1;
      // Ripgrep opens files by path, which may lead out of the workspace: it only reports locations, and we read the files.
      if (current?.path !== path) current = { path, lines: (await readSearchable(path))?.split("\n") };
      const text = current.lines?.[line - 1];
      if (text !== undefined) yield { path, line, text: text.replace(/\r$/, "") };
    }
    const code = await ended;
    signal.throwIfAborted();
    if (code === 2 && hits === 0) throw new ToolError(`ripgrep refused the pattern "${query.pattern}".`);
  } finally {
    signal.removeEventListener("abort", stop);
    if (child.exitCode === null && child.signalCode === null) stop();
  }
}

/**
 * `node scripts/foreign-engines.ts [folder…]`: runs installed plugins, as they are, through 50 turns with tool calls and
 * two compactions on the embedded runtime, and prints what each got and used. Without arguments: the folders that
 * `PAGURUS_FOREIGN_ENGINES` names (separated as in PATH), and the small engines of the tests. Half of the turns run in
 * one process and half in another, so that the engine opens a session with a history. Exit code 1 where one fails.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ForeignReport } from "../test/plugin/foreign-engines/session.ts";
import { runCommand } from "./command.ts";

const TURNS = 50;
const HALF = TURNS / 2;
/** Timeout for half of the turns. */
const DEADLINE_MS = 300_000;
const MARK = "report: ";

interface HalfReport extends ForeignReport {
  /** Names of `openclaw/*` that the plugin's files import, by specifier. */
  imports: Record<string, string[]>;
  /** Calls of those names. */
  calls: Record<string, number>;
}

async function runPlugin(folder: string): Promise<boolean> {
  const root = mkdtempSync(join(tmpdir(), "pagurus-foreign-"));
  // Files that an engine keeps outside the host's home are temporary, too.
  const env = { ...process.env, HOME: root, OPENCLAW_STATE_DIR: join(root, "openclaw") };
  try {
    const halves: HalfReport[] = [];
    for (const firstTurn of [1, HALF + 1]) {
      const args = [import.meta.filename, "--half", String(firstTurn), folder, root];
      const { code, stdout, stderr } = await runCommand(process.execPath, args, {
        env,
        deadlineMs: DEADLINE_MS,
      });
      const line = stdout.split("\n").find((text) => text.startsWith(MARK));
      if (line === undefined) {
        console.log(
          `## ${folder}\n\nfailed (${code}): ${stderr.trim().split("\n").slice(0, 12).join("\n")}\n`,
        );
        return false;
      }
      halves.push(JSON.parse(line.slice(MARK.length)) as HalfReport);
    }
    return printReport(folder, halves);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** One half, in a process of its own. */
async function runHalf(firstTurn: number, folder: string, root: string): Promise<void> {
  const { offerOpenClawImports } = await import("../packages/host/src/plugin/compat/imports.ts");
  const sdk = await import("../packages/host/src/plugin/compat/sdk.ts");
  const names = Object.keys(sdk);
  // Hooks of Node run newest first: this one records what the plugin imports, the host's own resolves it.
  offerOpenClawImports(pathToFileURL(folder).href);
  const imports: Record<string, string[]> = {};
  const calls = countCalls();
  registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      if (!/^openclaw(\/|$)/.test(specifier) || context.parentURL?.startsWith("file:") !== true) return found;
      const named = namesOf(specifier, readFileSync(fileURLToPath(context.parentURL), "utf8"), names);
      imports[specifier] = [...new Set([...(imports[specifier] ?? []), ...named])];
      // `require()` is not counted: a required module has to be a file.
      if (context.conditions.includes("require")) return found;
      return { ...found, url: counting(found.url, names), shortCircuit: true };
    },
  });
  const { runForeignSession } = await import("../test/plugin/foreign-engines/session.ts");
  const turns = firstTurn + HALF - 1;
  const report = await runForeignSession({
    folder,
    root,
    firstTurn,
    turns,
    compactAfter: [turns],
    compactTries: 10,
  });
  console.log(MARK + JSON.stringify({ ...report, imports, calls }));
  // Exits although engines may still have timers and servers; the host has been closed.
  process.exit(0);
}

/** Names that a file uses of a module: from the import statement, else (`import()`, `require()`) every member that it reads. */
function namesOf(specifier: string, text: string, known: readonly string[]): string[] {
  const quoted = specifier.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const statement = new RegExp(`import\\s*\\{([^}]*)\\}\\s*from\\s*["']${quoted}["']`).exec(text)?.[1];
  if (statement !== undefined)
    return statement.split(",").flatMap((part) => part.trim().split(/\s+as\s+/)[0] || []);
  return known.filter((name) => new RegExp(`\\.${name}\\b`).test(text)).map((name) => `${name}?`);
}

/** Source of a module that re-exports `url`'s functions and counts their calls. */
function counting(url: string, names: readonly string[]): string {
  const lines = names.map((name) => `export const ${name} = counted(${JSON.stringify(name)}, real.${name});`);
  const source = `import * as real from ${JSON.stringify(url)};\nconst counted = globalThis.countedForeign;\n${lines.join("\n")}`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

function countCalls(): Record<string, number> {
  const calls: Record<string, number> = {};
  const counted = (name: string, real: unknown): unknown =>
    typeof real !== "function"
      ? real
      : (...given: unknown[]) => {
          calls[name] = (calls[name] ?? 0) + 1;
          return (real as (...given: unknown[]) => unknown)(...given);
        };
  Object.assign(globalThis, { countedForeign: counted });
  return calls;
}

function printReport(folder: string, halves: HalfReport[]): boolean {
  const last = halves.at(-1);
  if (!last) return false;
  const { status, use, engineId } = last;
  const all = <T>(of: (half: HalfReport) => readonly T[]): T[] => [...new Set(halves.flatMap(of))];
  const sum = (of: (half: HalfReport) => Record<string, number>): string => {
    const total: Record<string, number> = {};
    for (const half of halves)
      for (const [name, count] of Object.entries(of(half))) total[name] = (total[name] ?? 0) + count;
    return list(Object.entries(total).map(([name, count]) => `${name} ${count}`));
  };
  const completed = halves.reduce((count, half) => count + half.completed, 0);
  const compactions = halves.flatMap((half) => half.compactions);
  const invalid = all((half) => half.invalidRequests);
  const failures = all((half) => half.failures);
  const modules = all((half) => Object.keys(half.imports));
  const ok =
    completed === TURNS &&
    failures.length + invalid.length + last.lostWords.length === 0 &&
    compactions.every(({ compacted }) => compacted);
  const lines = [
    `## ${engineId} ${status.engine.version ?? ""} (${folder})`,
    "",
    `- ${ok ? "passed" : "FAILED"}: ${completed} of ${TURNS} turns${list(failures, ": ")}`,
    `- lifecycle: ${status.engine.lifecycle}; ownsCompaction ${String(status.engine.ownsCompaction)}; asks for ${list(requirements(use.info)) || "nothing"}`,
    `- compactions: ${list(compactions.map((found) => compactionText(found)))}; ${halves.reduce((count, half) => count + half.summaryRequests, 0)} requests for a summary`,
    `- words in the transcript: ${last.words - last.lostWords.length} of ${last.words}; orphaned tool calls or results in requests: ${invalid.length}; messages in the largest request ${Math.max(...halves.map((half) => half.largestRequest))}`,
    `- loaded ${last.throughJiti ? "through jiti, which its imports do not show" : "by Node"}`,
    `- imports: ${list(modules.map((name) => `${name} {${list(all((half) => half.imports[name] ?? []))}}`)) || "none"}`,
    `- calls of what it imports: ${sum((half) => half.calls) || "none"}`,
    `- members called: ${sum((half) => half.use.members)}`,
    `- host parameters read: ${paramText(all((half) => half.use.params))}`,
    `- host parameters looked for and absent: ${paramText(last.use.absent)}`,
    `- registered: hooks ${list(use.registered.hooks) || "none"}; tools ${list(use.registered.tools) || "none"}; commands ${list(use.registered.commands) || "none"}`,
    `- api used: ${list(all((half) => half.use.api.used))}`,
    `- api asked for and absent: ${list(all((half) => half.use.api.missing)) || "nothing"}`,
    `- degradations: ${list(all((half) => half.degraded)) || "none"}`,
    "",
  ];
  console.log(lines.join("\n"));
  return ok;
}

function compactionText(made: ForeignReport["compactions"][number]): string {
  const { compacted, reason, tokensBefore, tokensAfter, refusals } = made;
  if (!compacted) return `not compacted (${reason ?? "no reason"})`;
  const before = refusals.length > 0 ? ` (refused ${refusals.length} times before: ${refusals[0]})` : "";
  return tokensBefore === undefined
    ? `compacted${before}`
    : `${tokensBefore} -> ${tokensAfter ?? "?"} tokens${before}`;
}

/** `member(a, b)`: the host's two records with the fields that were read. */
function paramText(params: readonly string[]): string {
  const found = new Map<string, string[]>();
  for (const param of params) {
    const [member = "", ...path] = param.split(".");
    found.set(member, [...(found.get(member) ?? []), path.join(".")]);
  }
  return list([...found].map(([member, paths]) => `${member}(${list(paths)})`)) || "none";
}

function requirements(info: Record<string, unknown>): string[] {
  const of = info["hostRequirements"] as Record<string, { requiredCapabilities: string[] }> | undefined;
  return Object.values(of ?? {}).flatMap(({ requiredCapabilities }) => requiredCapabilities);
}

function list(items: readonly string[], prefix = ""): string {
  return items.length === 0 ? "" : prefix + items.join(", ");
}

/** The default: what runs without arguments. */
function defaultFolders(): string[] {
  const named = (process.env["PAGURUS_FOREIGN_ENGINES"] ?? "").split(delimiter).filter((name) => name !== "");
  if (named.length === 0)
    console.log("PAGURUS_FOREIGN_ENGINES names no plugin: only the small engines of the tests are run.\n");
  const small = ["classic", "durable"].map((name) => join("test/plugin/foreign-engines", name));
  return [...named, ...small.map((folder) => fileURLToPath(new URL(`../${folder}`, import.meta.url)))];
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const [first, firstTurn, plugin, root] = given;
  if (first === "--half" && plugin !== undefined && root !== undefined) {
    await runHalf(Number(firstTurn), plugin, root);
  }
  let failed = false;
  for (const folder of (given.length > 0 ? given : defaultFolders()).map((name) => resolve(name))) {
    const there = existsSync(folder);
    if (!there) console.log(`## ${folder}\n\n- FAILED: there is no such folder\n`);
    if (!there || !(await runPlugin(folder))) failed = true;
  }
  process.exitCode = failed ? 1 : 0;
}

/**
 * `npm run newest [-- --all] [-- --write]`: tries the newest version of each program of `src/data/tried-programs.ts`, installed beside
 * the pinned ones in `test/real/.newest`, and prints a table. A program whose newest version is the pinned one is tried with `--all`
 * alone: the tests do that. `--write` sets the last tried version of those that pass, and writes docs/tried-with.md.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { TRIED, versionIn, type TriedProgram } from "../src/data/tried-programs.ts";
import { startProgram } from "../src/platform/start-program.ts";
import { pinnedVersion } from "../test/real/programs.ts";
import { ROOT, runCommand } from "./command.ts";
import { markdownTable } from "./markdown-table.ts";

const FACTS = "src/data/tried-programs.ts";
const PAGE = "docs/tried-with.md";
const PINNED = join(ROOT, "test/real");
const NEWEST = join(PINNED, ".newest");
const INSTALL_MS = 15 * 60_000;
const SUITE_MS = 15 * 60_000;
const QUESTION_MS = 60_000;

/** Programs with a suite of their own, and the configuration of the runtime that starts them. */
const SUITES: Readonly<Record<string, { runtime: string; entry(command: string): object }>> = {
  codex: { runtime: "codex", entry: (command) => ({ command, sandbox: "danger-full-access" }) },
  claude: { runtime: "claude-cli", entry: (command) => ({ command }) },
  "codex-acp": {
    runtime: "acp",
    entry: (command) => ({ agentId: "codex", agents: { codex: { command, mode: "agent-full-access" } } }),
  },
};

/** First line that each program is sent, and what its answer names: its version, or its state. */
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: 1, clientCapabilities: {} },
};
const QUESTIONS: Readonly<Record<string, { args: readonly string[]; line: object; answer: RegExp }>> = {
  pi: {
    args: ["--mode", "rpc"],
    line: { id: "1", type: "get_state" },
    answer: /"command":"get_state","success":true/,
  },
  opencode: { args: ["acp"], line: INITIALIZE, answer: /"agentInfo":/ },
  gemini: { args: ["--acp"], line: INITIALIZE, answer: /"agentCapabilities":/ },
  qwen: { args: ["--acp"], line: INITIALIZE, answer: /"agentCapabilities":/ },
  copilot: { args: ["--acp"], line: INITIALIZE, answer: /"agentCapabilities":/ },
  "pi-acp": { args: [], line: INITIALIZE, answer: /"agentCapabilities":/ },
  "codex-acp": { args: [], line: INITIALIZE, answer: /"agentInfo":/ },
  "claude-agent-acp": { args: [], line: INITIALIZE, answer: /"agentInfo":/ },
};

interface Row {
  id: string;
  pinned: string;
  newest: string;
  /** Of `--version`. */
  answers: string;
  protocol: string;
  suite: string;
}

const passes = ({ answers, protocol, suite, newest }: Row): boolean =>
  answers === newest && !protocol.startsWith("no") && !suite.startsWith("no");

async function newestOf(name: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand("npm", ["view", name, "version"], {
    deadlineMs: QUESTION_MS,
  });
  if (code !== 0) throw new Error(`npm view ${name} ended with code ${code}: ${stderr.trim().slice(0, 300)}`);
  return stdout.trim();
}

async function install(versions: ReadonlyMap<string, string>): Promise<void> {
  rmSync(join(NEWEST, "package.json"), { force: true });
  mkdirSync(NEWEST, { recursive: true });
  const dependencies = Object.fromEntries(versions);
  writeFileSync(join(NEWEST, "package.json"), JSON.stringify({ private: true, dependencies }));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
  const { code } = await runCommand("npm", ["install", ...flags], {
    cwd: NEWEST,
    output: "inherit",
    deadlineMs: INSTALL_MS,
  });
  if (code !== 0) throw new Error(`npm install in test/real/.newest ended with code ${code}.`);
}

/** Claude Code is one native file, in the package of this platform. */
function programIn(folder: string, id: string): string {
  const modules = join(folder, "node_modules");
  const native = join(modules, `@anthropic-ai/claude-code-${process.platform}-${process.arch}`, "claude");
  return id === "claude" ? native : join(modules, ".bin", id);
}

/** The environment of a user without settings: nothing of this machine's programs is read or changed. */
function scratchEnv(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, PAGURUS_HOME: join(home, ".pagurus"), NO_COLOR: "1" };
}

/** Whether the program answers a first line as it did. */
async function speaks(id: string, command: string, home: string): Promise<string> {
  if (id === "codex") {
    const args = ["scripts/codex-protocol.ts", "--check", "--binary", command];
    const { code, stderr } = await runCommand(process.execPath, args, { deadlineMs: SUITE_MS });
    return code === 0 ? "the same" : `differs: ${stderr.trim().split("\n").length} places`;
  }
  const question = QUESTIONS[id];
  if (!question) return "-";
  const child = startProgram(command, question.args, {
    cwd: home,
    env: scratchEnv(home),
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  const answer = Promise.withResolvers<string>();
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (question.answer.test(output)) answer.resolve("yes");
  });
  child.once("error", () => answer.resolve("no"));
  child.once("exit", () => answer.resolve("no"));
  child.stdin?.on("error", () => undefined).write(`${JSON.stringify(question.line)}\n`);
  const timer = setTimeout(() => answer.resolve("no answer"), QUESTION_MS);
  const result = await answer.promise;
  clearTimeout(timer);
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  return result;
}

async function suiteOf(id: string, command: string, home: string): Promise<string> {
  const suite = SUITES[id];
  if (!suite) return "-";
  const { runtime, entry } = suite;
  const env = scratchEnv(home);
  mkdirSync(join(home, ".pagurus"), { recursive: true });
  const config = { plugins: { entries: { [runtime]: { config: entry(command) } } } };
  writeFileSync(join(home, ".pagurus", "config.json5"), JSON.stringify(config));
  const args = ["bin/pagurus.js", "runtimes", "test", runtime, "--json"];
  const { stdout, stderr } = await runCommand(process.execPath, args, { env, deadlineMs: SUITE_MS });
  try {
    const { passed, failed, skipped } = JSON.parse(stdout) as Record<"passed" | "failed" | "skipped", number>;
    return failed === 0 ? `${passed} passed, ${skipped} skipped` : `no: ${failed} failed, ${passed} passed`;
  } catch {
    return `no: ${stderr.trim().slice(0, 100)}`;
  }
}

async function tried(id: string, { npm }: TriedProgram, newest: string, isAll: boolean): Promise<Row> {
  const pinned = pinnedVersion(npm);
  const row = { id, pinned, newest, answers: newest, protocol: "as pinned", suite: "as pinned" };
  if (pinned === newest && !isAll) return row;
  const command = programIn(pinned === newest ? PINNED : NEWEST, id);
  const home = mkdtempSync(join(tmpdir(), "pagurus-newest-"));
  try {
    const env = scratchEnv(home);
    const printed = existsSync(command)
      ? await runCommand(command, ["--version"], { env, cwd: home, deadlineMs: QUESTION_MS })
      : { stdout: "", stderr: "" };
    const answers = versionIn(printed.stdout + printed.stderr) ?? "no answer";
    return {
      ...row,
      answers,
      protocol: await speaks(id, command, home),
      suite: await suiteOf(id, command, home),
    };
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The page of the versions that the tests ran with. */
function pageOf(programs: Readonly<Record<string, TriedProgram>>): string {
  const rows = Object.entries(programs).map(([id, { label, from, to, runtime }]) => [
    `\`${id}\``,
    label,
    from === to ? from : `${from} to ${to}`,
    runtime === undefined ? "" : `\`pagurus runtimes test ${runtime}\``,
  ]);
  return [
    "# Tried with",
    "",
    "Versions of other makers' programs that the tests ran with. A version inside its range is not reported. Beyond it one note",
    "comes for each version, and names the command that tries it on your machine; when all its checks pass, that is remembered and",
    "the note does not come again. `pagurus doctor` lists the installed programs with their versions.",
    "",
    "Generated by `npm run newest -- --write`, which installs the newest version of each, asks it by its protocol and runs the",
    "conformance suite of its runtime.",
    "",
    markdownTable(["program", "name", "versions", "tried by"], rows),
    "",
  ].join("\n");
}

/** One sentence for each fact that is not the same in the list, the pins and the page. */
export function checkTriedPrograms(root: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, "test/real/package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const problems = Object.entries<TriedProgram>(TRIED)
    .filter(([, { npm, to }]) => dependencies[npm] !== to)
    .map(
      ([id, { npm, to }]) =>
        `${FACTS}: ${id} was tried to ${to}, and test/real/package.json has ${npm} ${dependencies[npm]}`,
    );
  if (readFileSync(join(root, PAGE), "utf8") !== pageOf(TRIED))
    problems.push(`${PAGE} is not the list of ${FACTS}; run \`npm run newest -- --write\``);
  return problems;
}

function write(rows: readonly Row[]): void {
  let facts = readFileSync(join(ROOT, FACTS), "utf8");
  const programs: Record<string, TriedProgram> = { ...TRIED };
  for (const row of rows.filter(passes)) {
    const program = programs[row.id];
    if (!program || program.to === row.newest) continue;
    programs[row.id] = { ...program, to: row.newest };
    const start = facts.indexOf(`npm: "${program.npm}"`);
    const at = facts.indexOf(`to: "${program.to}"`, start);
    facts = `${facts.slice(0, at)}to: "${row.newest}"${facts.slice(at + `to: "${program.to}"`.length)}`;
  }
  writeFileSync(join(ROOT, FACTS), facts);
  writeFileSync(join(ROOT, PAGE), pageOf(programs));
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { all: { type: "boolean" }, write: { type: "boolean" } } });
  const programs = Object.entries<TriedProgram>(TRIED);
  const newest: string[] = [];
  for (const [, { npm }] of programs) newest.push(await newestOf(npm));
  const newer = new Map(
    programs.flatMap(([, { npm, to }], index): [string, string][] => {
      const version = newest[index] ?? to;
      return version === to ? [] : [[npm, version]];
    }),
  );
  if (newer.size > 0) await install(newer);
  const rows: Row[] = [];
  for (const [index, [id, program]] of programs.entries()) {
    const row = await tried(id, program, newest[index] ?? program.to, values.all === true);
    console.error(
      `${id} ${row.newest}: ${row.suite === "as pinned" ? "as pinned" : passes(row) ? "passes" : "does not pass"}`,
    );
    rows.push(row);
  }
  console.log(
    markdownTable(
      ["program", "pinned", "newest", "--version", "protocol", "conformance"],
      rows.map(({ id, pinned, newest: version, answers, protocol, suite }) => [
        id,
        pinned,
        version,
        answers,
        protocol,
        suite,
      ]),
    ),
  );
  if (values.write === true) write(rows);
  process.exitCode = rows.every(passes) ? 0 : 1;
}

if (import.meta.main) await main();

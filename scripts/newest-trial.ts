/** One version of a program, as `npm run newest` tries it: its answers, its trial (test/real/tried) and its conformance suite. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOwnSuite, trialOf, TRIED, versionIn } from "../packages/core/src/data/tried-programs.ts";
import { startProgram } from "../packages/core/src/platform/start-program.ts";
import { SUBJECT_IDS, SUBJECTS, type SubjectId } from "../test/real/tried/subjects.ts";
import { TRIAL_STEPS, tryProgram, type TrialResult } from "../test/real/tried/trial.ts";
import { runCommand } from "./command.ts";
import { inputOf } from "../test/runner/child-input.ts";

const QUESTION_MS = 60_000;
const SUITE_MS = 45 * 60_000;
const REASON_CHARS = 200;

/** Result of a suite that was left out. */
export const NOT_RUN = "not run";

/** Result of a version; each text is `pass`, `-` for what the program does not have, or begins with `no:`. */
export interface Trial {
  /** Of `--version`; for a program that does not print it, of its protocol. */
  answers: string;
  protocol: string;
  turns: string;
  compaction: string;
  resume: string;
  conformance: string;
}

/** First line that each program is sent, and its answer. */
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

/** The environment of a user without settings: nothing of this machine's programs is read or changed. */
function scratchEnv(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, PAGURUS_HOME: join(home, ".pagurus"), NO_COLOR: "1" };
}

interface Spoken {
  protocol: string;
  /** Version of an ACP agent, as `{"agentInfo":{"name":"pi-acp","version":"0.0.34"}}`. */
  version?: string | undefined;
}

/** Whether the program answers its protocol's first line; for Codex, whether its protocol is the one of our sources. */
async function speaks(id: string, command: string, home: string): Promise<Spoken> {
  if (id === "codex") {
    const args = ["scripts/codex-protocol.ts", "--check", "--binary", command];
    const { code, stderr } = await runCommand(process.execPath, args, { deadlineMs: SUITE_MS });
    const places = stderr.trim().split("\n").length;
    return { protocol: code === 0 ? "pass" : `differs in ${places} places` };
  }
  const question = QUESTIONS[id];
  if (!question) return { protocol: "-" };
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
    if (question.answer.test(output)) answer.resolve("pass");
  });
  child.once("error", (error) => answer.resolve(`no: ${error.message}`));
  child.once("exit", (code) => answer.resolve(`no: it ended with code ${code}`));
  inputOf(child).write(`${JSON.stringify(question.line)}\n`);
  const timer = setTimeout(() => answer.resolve("no: no answer"), QUESTION_MS);
  const protocol = await answer.promise;
  clearTimeout(timer);
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  return { protocol, version: /"agentInfo":\{[^}]*"version":"([^"]+)"/.exec(output)?.[1] };
}

/** `pagurus runtimes test`, as a user runs it. */
async function suiteOf(id: keyof typeof TRIED, command: string, home: string): Promise<string> {
  const words = trialOf(id, TRIED[id])?.split(" ").slice(1);
  if (!words) return "-";
  if (isOwnSuite(id)) words.splice(-1, 1, command);
  else if (isSubject(id)) {
    const { entries = {} } = SUBJECTS[id].runtime?.(command) ?? {};
    mkdirSync(join(home, ".pagurus"), { recursive: true });
    writeFileSync(join(home, ".pagurus", "pagurus.json"), JSON.stringify({ plugins: { entries } }));
  }
  const { stdout, stderr } = await runCommand(process.execPath, ["bin/pagurus.js", ...words, "--json"], {
    env: scratchEnv(home),
    deadlineMs: SUITE_MS,
  });
  try {
    const { passed, failed, skipped, results } = JSON.parse(stdout) as Report;
    if (failed === 0) return skipped === 0 ? `${passed} passed` : `${passed} passed, ${skipped} skipped`;
    const failures = results.filter(({ status }) => status === "failed");
    for (const { id: check, reason } of failures) console.error(`${id} fails ${check}: ${reason}`);
    return `no: ${failed} failed (${failures.map((each) => each.id).join(", ")}), ${passed} passed`;
  } catch {
    return `no: ${(stderr + stdout).trim().slice(0, REASON_CHARS)}`;
  }
}

interface Report {
  passed: number;
  failed: number;
  skipped: number;
  results: { id: string; status: string; reason?: string }[];
}

async function answerOf(command: string, home: string): Promise<string | undefined> {
  if (!existsSync(command)) return "no: not installed";
  const { stdout, stderr } = await runCommand(command, ["--version"], {
    env: scratchEnv(home),
    cwd: home,
    deadlineMs: QUESTION_MS,
  });
  return versionIn(stdout + stderr);
}

export function isSubject(id: string): id is SubjectId {
  return (SUBJECT_IDS as readonly string[]).includes(id);
}

/** Whether something of the program is tried besides its protocol: turns, or a conformance suite. */
export function isTrial(id: string): boolean {
  return isSubject(id) || isOwnSuite(id);
}

/** Tries the program at this path. */
export async function tryVersion(
  id: keyof typeof TRIED,
  command: string,
  { turns, suite }: { turns: number; suite: boolean },
): Promise<Trial> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-newest-"));
  try {
    const printed = await answerOf(command, home);
    const { protocol, version } = await speaks(id, command, home);
    const answers = printed ?? version ?? "no answer";
    const steps = isSubject(id) ? await tryProgram(id, command, turns) : undefined;
    const cells = TRIAL_STEPS.map((step) => [step, steps ? cellOf(steps[step]) : "-"]);
    const conformance = suite ? await suiteOf(id, command, home) : NOT_RUN;
    return { answers, protocol, ...(Object.fromEntries(cells) as TrialResult), conformance };
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

function cellOf(result: string): string {
  return result === "pass" ? result : `no: ${result.slice(0, REASON_CHARS).replaceAll("|", "/")}`;
}

/** Whether all that the program has passes, and it is the version that was asked for. */
export function passes(trial: Trial, version: string): boolean {
  const { answers, ...cells } = trial;
  return answers === version && Object.values(cells).every((cell) => !cell.startsWith("no:"));
}

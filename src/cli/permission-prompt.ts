import { closeSync, openSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { ReadStream } from "node:tty";
import type { AskPermission, PermissionQuestion } from "../contract/run.ts";
import { oneLine, plural, terminalVisible } from "../command/layout.ts";
import { styleFor, type Cli } from "./cli.ts";
import type { HeldOutput } from "./held-output.ts";

type Answer = Awaited<ReturnType<AskPermission>>;

/** Most lines shown of what would happen, and of what would change. */
const SUMMARY_LINES = 12;
const PREVIEW_LINES = 40;

function block(text: string, most: number, indent: string): string[] {
  const lines = terminalVisible(text.replace(/\r?\n/g, "\n").replace(/\n$/, "")).split("\n");
  const shown = lines.slice(0, most).map((line) => `${indent}${line}`);
  if (lines.length > most) shown.push(`${indent}… ${plural(lines.length - most, "more line")}`);
  return shown;
}

/** The question as it stands on the terminal; what a model wrote cannot move the cursor in it, nor hide. */
export function questionText(cli: Cli, question: PermissionQuestion): string {
  const style = styleFor(cli.stderr, cli.env);
  const { summary, preview, rule } = question;
  const title = `Allow ${oneLine(question.toolName, 60)} in ${oneLine(question.cwd, 200)}?`;
  const shown = block(summary, SUMMARY_LINES, "    ");
  // A preview that only repeats the summary would make the question look like two.
  if (preview !== undefined && preview.trim() !== summary.trim()) {
    shown.push(...block(preview, PREVIEW_LINES, "    │ "));
  }
  const always = rule === undefined ? "always here" : `always: ${terminalVisible(oneLine(rule, 300))}`;
  const keys = `[y] once  [a] ${always}  [n] no: `;
  return `${style("yellow", title)}\n${shown.join("\n")}\n${style("bold", keys)}`;
}

/** `y` and `a` allow; anything else denies. */
export function parseAnswer(line: string): Answer {
  const word = line.trim().toLowerCase();
  if (word === "y" || word === "yes" || word === "once") return "once";
  return word === "a" || word === "always" ? "always" : "deny";
}

/** Lets one question be open at a time; parallel tool calls wait for their turn. An aborted one is denied. */
export function oneAtATime(ask: (question: PermissionQuestion) => Promise<Answer>): AskPermission {
  let last: Promise<unknown> = Promise.resolve();
  return (question) => {
    const answer = last.then(() => (question.signal.aborted ? "deny" : ask(question)));
    // A question that failed must not hold up the next; its own caller gets the error.
    last = answer.catch(() => undefined);
    return answer;
  };
}

/** Reads one line; an end of input or an abort is an empty one. */
function readAnswer(lines: Interface, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const done = (line: string): void => {
      signal.removeEventListener("abort", onAbort);
      lines.off("line", done).off("close", onAbort);
      resolve(line);
    };
    const onAbort = (): void => done("");
    signal.addEventListener("abort", onAbort, { once: true });
    lines.once("line", done).once("close", onAbort);
  });
}

/** The terminal to read answers from: standard input, or the controlling terminal when that is a pipe. */
function openTerminal(cli: Cli): { input: NodeJS.ReadableStream; close(): void } | undefined {
  if (cli.stdin.isTTY === true) return { input: cli.stdin, close: () => void cli.stdin.pause() };
  try {
    const fd = openSync("/dev/tty", "r");
    const input = new ReadStream(fd);
    return { input, close: () => void input.destroy() };
  } catch {
    // No controlling terminal: nobody can answer.
    return undefined;
  }
}

/** Whether there is a controlling terminal to ask on. */
function canAsk(cli: Cli): boolean {
  if (cli.stderr.isTTY !== true) return false;
  if (cli.stdin.isTTY === true) return true;
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    // No controlling terminal.
    return false;
  }
}

/**
 * Asks on the terminal; undefined where there is none, which the host takes as "deny". Output is held back while a
 * question is open.
 */
export function terminalPermission(cli: Cli, output: HeldOutput): AskPermission | undefined {
  if (!canAsk(cli)) return undefined;
  return oneAtATime(async (question) => {
    const terminal = openTerminal(cli);
    if (!terminal) return "deny";
    const lines = createInterface({ input: terminal.input });
    output.hold();
    try {
      output.endLine(cli.stderr);
      cli.stderr.write(questionText(cli, question));
      const line = await readAnswer(lines, question.signal);
      if (question.signal.aborted) cli.stderr.write("\n");
      return parseAnswer(line);
    } finally {
      lines.close();
      terminal.close();
      output.release();
    }
  });
}

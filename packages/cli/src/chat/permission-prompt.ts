import { closeSync, openSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { ReadStream } from "node:tty";
import type { AskPermission, PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine } from "@pagurus/host/command/layout";
import { formContent, readFormLine } from "@pagurus/core/data/form-text";
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { styleFor, type Cli } from "../cli.ts";
import type { HeldOutput } from "../run/held-output.ts";

/** Maximum lines shown of the summary, and of the preview. */
const SUMMARY_LINES = 12;
const PREVIEW_LINES = 40;

/** Lines of a text that hides nothing, each after `indent`, and how many more it has. */
export function linesAtMost(text: string, most: number, indent: string): string[] {
  const lines = escapedUnseen(text.replace(/\r?\n/g, "\n").replace(/\n$/, "")).split("\n");
  const shown = lines.slice(0, most).map((line) => `${indent}${line}`);
  if (lines.length > most) shown.push(`${indent}… ${plural(lines.length - most, "more line")}`);
  return shown;
}

/** Text of the question on the terminal; a model's text cannot move the cursor in it, nor hide. */
export function questionText(cli: Cli, question: PermissionQuestion): string {
  const style = styleFor(cli.stderr, cli.env);
  const { summary, preview, rule, similar, form } = question;
  if (form) return formText(cli, question);
  const title = `Allow ${oneLine(question.toolName, 60)} in ${oneLine(question.cwd, 200)}?`;
  const shown = linesAtMost(summary, SUMMARY_LINES, "    ");
  // A preview that only repeats the summary would look like a second question.
  if (preview !== undefined && preview.trim() !== summary.trim()) {
    shown.push(...linesAtMost(preview, PREVIEW_LINES, "    │ "));
  }
  const always = rule === undefined ? "always here" : `always: ${escapedUnseen(oneLine(rule, 300))}`;
  const wider = similar === undefined ? "" : `  [s] always ${escapedUnseen(oneLine(similar, 300))}`;
  const keys = `[y] once  [a] ${always}${wider}  [n] no, or type what to do instead: `;
  return `${style("yellow", title)}\n${shown.join("\n")}\n${style("bold", keys)}`;
}

/** Text of a question for values. */
function formText(cli: Cli, { summary, accept }: PermissionQuestion): string {
  const style = styleFor(cli.stderr, cli.env);
  const [title = "", ...more] = linesAtMost(summary, PREVIEW_LINES, "");
  const shown = more.map((line) => `    ${line}`);
  const yes = accept ? escapedUnseen(oneLine(accept.label, 300)) : "send what is shown";
  const keys = `[y] ${yes}  [n] ${accept ? "stop" : "no"}, or type values as name=value, name=value: `;
  return `${style("yellow", title)}\n${shown.join("\n")}\n${style("bold", keys)}`;
}

const KEYS: ReadonlyMap<string, PermissionAnswer> = new Map([
  ["y", "once"],
  ["yes", "once"],
  ["once", "once"],
  ["a", "always"],
  ["always", "always"],
  ["s", "similar"],
  ["similar", "similar"],
  ["", "deny"],
  ["n", "deny"],
  ["no", "deny"],
]);

/** `y`, `a` and `s` allow; anything else denies, and any other text is passed to the model. */
export function parseAnswer(line: string): PermissionAnswer {
  return KEYS.get(line.trim().toLowerCase()) ?? { deny: line.trim() };
}

/** The answer to a question; `problem`: a sentence about values that do not fit its form. */
export function readQuestionAnswer(
  { form }: PermissionQuestion,
  line: string,
): PermissionAnswer | { problem: string } {
  const answer = parseAnswer(line);
  if (!form || answer === "deny") return answer;
  const values = typeof answer === "string" ? {} : readFormLine(form, line);
  if (!values) return answer;
  const read = formContent(form, values);
  return "problem" in read ? { problem: `This cannot be sent: ${read.problem}.` } : read;
}

/** Allows one open question at a time; parallel tool calls queue. An aborted one is denied. */
export function oneAtATime(ask: AskPermission): AskPermission {
  let last: Promise<unknown> = Promise.resolve();
  return (question) => {
    const answer = last.then(() => (question.signal.aborted ? "deny" : ask(question)));
    // A failed question must not block the next; its own caller gets the error.
    last = answer.catch(() => undefined);
    return answer;
  };
}

/** Reads one line; end of input or an abort is an empty one. */
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

/** Opens a terminal for answers: standard input, or the controlling terminal when that is a pipe. */
function openTerminal(cli: Cli): { input: NodeJS.ReadableStream; close(): void } | undefined {
  const input = cli.stdin.isTTY === true ? cli.stdin : cli.controllingTerminal?.();
  if (input) return { input, close: () => void input.pause() };
  if (cli.controllingTerminal) return undefined;
  try {
    const fd = openSync("/dev/tty", "r");
    const own = new ReadStream(fd);
    return { input: own, close: () => void own.destroy() };
  } catch {
    // No controlling terminal, so no answer is possible.
    return undefined;
  }
}

/** Whether there is a terminal for questions. */
function canAsk(cli: Cli): boolean {
  if (cli.stderr.isTTY !== true) return false;
  if (cli.stdin.isTTY === true) return true;
  if (cli.controllingTerminal) return cli.controllingTerminal() !== undefined;
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    // No controlling terminal.
    return false;
  }
}

/** Asks for one line on the terminal; undefined without one. */
export async function askLine(cli: Cli, text: string): Promise<string | undefined> {
  const terminal = canAsk(cli) ? openTerminal(cli) : undefined;
  if (!terminal) return undefined;
  const lines = createInterface({ input: terminal.input });
  try {
    cli.stderr.write(text);
    return await readAnswer(lines, new AbortController().signal);
  } finally {
    lines.close();
    terminal.close();
  }
}

/**
 * Permission prompt on the terminal; undefined without one, which the host treats as "deny". Output is held back while a
 * question is open.
 */
export function terminalPermission(cli: Cli, output: HeldOutput): AskPermission | undefined {
  if (!canAsk(cli)) return undefined;
  return oneAtATime(async (question) => {
    const terminal = openTerminal(cli);
    if (!terminal) return "unasked";
    const lines = createInterface({ input: terminal.input });
    output.hold();
    try {
      output.endLine(cli.stderr);
      for (;;) {
        cli.stderr.write(questionText(cli, question));
        const line = await readAnswer(lines, question.signal);
        if (question.signal.aborted) cli.stderr.write("\n");
        const answer = readQuestionAnswer(question, line);
        if (typeof answer === "string" || !("problem" in answer)) return answer;
        cli.stderr.write(`${answer.problem}\n`);
      }
    } finally {
      lines.close();
      terminal.close();
      output.release();
    }
  });
}

/**
 * A proxy between a host and the real Codex that passes every line on. A file of rules, read again at each line, names the
 * point at which Codex is killed, then this process, or the `initialize` answer that replaces its version. Arguments: the
 * program, the file, Codex's own.
 */
import { spawn } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { createInterface } from "node:readline";
import { inputOf } from "../../runner/child-input.ts";

export interface TapRules {
  /** `pass`: the line itself still reaches the other side. The rule applies once; the file is then `<file>.done`. */
  kill?: { at: "request" | "answer" | "notification"; method: string; pass: boolean };
  /** The same, but Codex stays alive and no more lines are passed on. */
  stop?: { at: "request" | "answer" | "notification"; method: string };
  version?: string;
  /** A method that this Codex does not know. */
  unknown?: string;
}

interface Line {
  id?: number | string;
  method?: string;
}

const [program = "", file = "", ...args] = process.argv.slice(2);
const codex = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const asked = new Map<unknown, string>();
let isOver = false;

function rules(): TapRules {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as TapRules;
  } catch {
    return {};
  }
}

function fire(isDeadly: boolean): void {
  isOver = true;
  renameSync(file, `${file}.done`);
  if (isDeadly) codex.kill("SIGKILL");
}

/** Passes a line on, or ends it here. */
function pass(line: string, at: string, method: string | undefined, on: NodeJS.WritableStream): void {
  if (isOver) return;
  const { kill, stop, version, unknown } = rules();
  const isHere = (rule: { at: string; method: string } | undefined): boolean =>
    rule?.at === at && rule.method === method;
  if (isHere(stop)) return fire(false);
  if (isHere(kill) && kill?.pass !== true) return fire(true);
  const received =
    at === "request" && method === unknown ? line.replace(`"${unknown}"`, `"${unknown}/x"`) : line;
  const forwarded =
    version !== undefined && at === "answer" && method === "initialize"
      ? line.replace(/(pagurus)\/\d+\.\d+\.\d+/, `$1/${version}`)
      : received;
  on.write(`${forwarded}\n`, () => isHere(kill) && fire(true));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line) as Line;
  if (method !== undefined && id !== undefined) asked.set(id, method);
  pass(line, "request", method, inputOf(codex));
});
process.stdin.on("end", () => inputOf(codex).end());
createInterface({ input: codex.stdout }).on("line", (line) => {
  const { id, method } = JSON.parse(line) as Line;
  if (method === undefined) pass(line, "answer", asked.get(id), process.stdout);
  else pass(line, "notification", method, process.stdout);
});
codex.on("exit", (code, signal) => {
  if (signal) process.kill(process.pid, signal);
  else process.exit(code ?? 1);
});

/** A real terminal (tmux) with a shell in it. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Checks that tmux is available, before anything else is started. Throws one sentence otherwise. */
export function needTerminal(): void {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
  } catch {
    throw new Error(
      "A real terminal needs tmux: install the package of that name, as with `apt-get install tmux`.",
    );
  }
}

const PATIENCE_MS = 60_000;
/** Longest wait for a typed line on the screen. */
const SHOWS_MS = 10_000;
const SHOWN_LETTERS = 20;

/** A text without spaces and frames, which depend on the width. */
function lettersOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, "");
}

export class Terminal {
  readonly #socket: string;

  constructor(root: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#socket = join(root, "tmux");
    const setup = join(root, "shell.sh");
    const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
    const variables = Object.entries({ ...env, TERM: "xterm-256color", PS1: "ready> " });
    const lines = variables.map(([name, value]) => `export ${name}=${quoted(value)}`);
    // The terminal's colours do not depend on those of the process that runs the tests.
    const colours = "unset NO_COLOR FORCE_COLOR";
    const script = [`cd ${quoted(cwd)}`, colours, ...lines, "exec bash --norc -i", ""].join("\n");
    writeFileSync(setup, script, { mode: 0o700 });
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", `bash ${quoted(setup)}`);
  }

  #tmux(...args: string[]): string {
    return execFileSync("tmux", ["-S", this.#socket, ...args], { encoding: "utf8" });
  }

  screen(): string {
    return this.#tmux("capture-pane", "-p");
  }

  /** The screen with the escape sequences of its colours and styles. */
  styled(): string {
    return this.#tmux("capture-pane", "-p", "-e");
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  size(): { columns: number; rows: number } {
    const [columns = 0, rows = 0] = this.#tmux("display-message", "-p", "#{window_width} #{window_height}")
      .split(" ")
      .map(Number);
    return { columns, rows };
  }

  /** Process of its shell. */
  pid(): number {
    return Number(this.#tmux("display-message", "-p", "#{pane_pid}"));
  }

  /** Waits for text on the screen. */
  async sees(what: RegExp, patienceMs = PATIENCE_MS): Promise<void> {
    for (let waited = 0; waited < patienceMs; waited += 100) {
      if (what.test(this.screen())) return;
      await pause(100);
    }
    throw new Error(`${String(what)} is not on the screen:\n${this.screen().trimEnd()}`);
  }

  /** Pauses between keys: programs treat keys that arrive at once as a paste. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.#tmux("send-keys", key);
      await pause(400);
    }
  }

  async types(line: string): Promise<void> {
    this.#tmux("send-keys", "-l", line);
    await pause(600);
    // A busy program takes its keys later. Some input is not shown, such as a key.
    const end = lettersOf(line).slice(-SHOWN_LETTERS);
    for (let waited = 0; waited < SHOWS_MS && !lettersOf(this.screen()).includes(end); waited += 100)
      await pause(100);
    await this.press("Enter");
  }

  /** Pastes as a terminal does, with the marks of a paste. */
  paste(text: string): void {
    this.#tmux("set-buffer", text);
    this.#tmux("paste-buffer", "-p");
  }

  /** Waits until the screen no longer changes; returns it. */
  async settled(): Promise<string> {
    for (let waited = 0, before = ""; waited < PATIENCE_MS; waited += 250) {
      const screen = this.screen();
      if (screen === before) return screen;
      before = screen;
      await pause(250);
    }
    return this.screen();
  }

  end(): void {
    this.#tmux("kill-server");
  }
}

/**
 * The user's own program under `pagurus wire`, typed into in a real terminal: a harbour's logs in a folder, a model that
 * answers only from its request, an engine that compacts early.
 */
import { turnMetadata } from "../codex/turn-metadata.ts";
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { captureNumbers, readCapture, readPart } from "../../../packages/gateway/src/capture/read-capture.ts";
import type { CaptureRecord } from "../../../packages/gateway/src/capture/capture-record.ts";
import type { Protocol, RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { WrapRun } from "./wrap-bench.ts";
import { MAIN } from "../../runner/program.ts";

const SCREENS = fileURLToPath(new URL("../../../docs/guides/screens", import.meta.url));
export const SESSION = "demo";
const SEASONS = ["spring", "summer", "autumn"];
const SHIPS = 250;
/** Tokens: two logs are more than the trigger. */
const LOSSLESS = { trigger: 4_500, headTokens: 900, tailTokens: 1_200 };
/** Size of the terminal, as in the captures of the docs. */
const SIZE = ["-x", "100", "-y", "30"];
const STORY = "The keeper rowed out to the next buoy and lit its lamp. ".repeat(40);
const PATIENCE_MS = 60_000;

export interface Program {
  /** As it is typed. */
  name: string;
  args: string;
  path: string;
  protocol: Protocol;
  /** On the screen. */
  signs: { ready: RegExp; asks: RegExp; interrupted: RegExp; compacted: RegExp };
  /** The text typed to exit. */
  quit: string;
  /** Keys that do the same. */
  leave: string[];
  /** The call with which its model runs a command. */
  call(id: string, command: string): { id: string; name: string; arguments: Record<string, unknown> };
  /** One line for each part of a request. */
  lines(request: RecordedRequest): string[];
  /** True for the program's request to summarize its history. */
  isCompaction(request: RecordedRequest): boolean;
  env(run: WrapRun): Record<string, string>;
  setUp(run: WrapRun): void;
}

export interface Exchange {
  facts: CaptureRecord;
  /** As the program sent it. */
  harness: string;
  /** As it was forwarded to the model; undefined where the engine answered. */
  sent: string | undefined;
}

export class Interactive {
  readonly run: WrapRun;
  readonly terminal: Terminal;
  readonly #program: Program;

  private constructor(program: Program, run: WrapRun, terminal: Terminal) {
    this.#program = program;
    this.run = run;
    this.terminal = terminal;
  }

  static async open(program: Program): Promise<Interactive> {
    needTerminal();
    const run = await WrapRun.with(program.protocol, (request, index) => answer(program, request, index));
    for (const season of SEASONS) writeFileSync(join(run.cwd, `${season}.log`), logOf(season));
    mkdirSync(run.home, { recursive: true });
    const plugins = {
      slots: { contextEngine: "lossless" },
      entries: { lossless: { config: LOSSLESS } },
    };
    writeFileSync(join(run.home, "pagurus.json"), JSON.stringify({ plugins }));
    program.setUp(run);
    const path = [programs(run, program), dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const terminal = new Terminal(run.root, run.cwd, run.env({ ...program.env(run), PATH: path }));
    const opened = new Interactive(program, run, terminal);
    opened.#tmux("resize-window", ...SIZE);
    await terminal.sees(/ready>/);
    return opened;
  }

  /** Requests of its conversation that reached the model. */
  get mains(): RecordedRequest[] {
    return this.run.server.requests.filter(isMain);
  }

  start(): Promise<void> {
    const { name, args } = this.#program;
    return this.terminal
      .types(`pagurus wire --session ${SESSION} --capture -- ${name}${args}`)
      .then(() => this.terminal.sees(this.#program.signs.ready));
  }

  /** Types a prompt and waits until its answer is on the screen, and the program is idle. */
  async says(prompt: string, shown: RegExp): Promise<string> {
    await this.terminal.types(prompt);
    return this.seesAfter(prompt, shown);
  }

  /** Waits for a text after the last typed one. */
  async seesAfter(typed: string, shown: RegExp): Promise<string> {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until;) {
      // Codex's last line has the first words of the conversation: "test-model default · ~/work · The spare key hangs".
      const screen = this.terminal.screen().replaceAll(/^.* · ~\/\w+ · .*$/gm, "");
      const after = screen.slice(screen.lastIndexOf(typed) + typed.length);
      if (screen.includes(typed) && shown.test(after) && !/esc to interrupt/.test(screen)) return screen;
      await pause(100);
    }
    throw new Error(`no ${String(shown)} behind "${typed}":\n${this.terminal.screen()}`);
  }

  /** Confirms a question; programs accept no key that arrives as soon as they ask. */
  async answers(asks: RegExp): Promise<void> {
    for (const until = Date.now() + PATIENCE_MS; asks.test(this.terminal.screen()); await pause(600)) {
      if (Date.now() > until) throw new Error(`still asked:\n${this.terminal.screen()}`);
      await this.terminal.press("Enter");
    }
  }

  /** The output of a shell command. */
  async shell(command: string): Promise<string> {
    const file = join(this.run.root, "printed");
    await this.terminal.types(`${command} > ${file}; echo "written"`);
    await this.seesAfter(command, /^written$/m);
    return readFileSync(file, "utf8").trim();
  }

  /** Shows the output of a command on its own screen. */
  async shows(command: string, what: RegExp): Promise<void> {
    await this.terminal.types("clear");
    await this.terminal.types(command);
    await this.seesAfter(command, what);
  }

  /** Whether full screen, cursor and mouse are in the shell's state. */
  isPlain(): boolean {
    const flags = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_flag}";
    return this.#tmux("display-message", "-p", flags).trim() === "0 1 0 0";
  }

  /** Running programs of this terminal, without the shell. */
  left(): string[] {
    const mark = `PAGURUS_HOME=${this.run.home}`;
    return readdirSync("/proc").flatMap((pid) => {
      try {
        if (!/^\d+$/.test(pid) || !readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark)) return [];
        const name = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
        return name === "bash" ? [] : [name];
      } catch {
        return [];
      }
    });
  }

  exchanges(): Exchange[] {
    const session = { home: this.run.home, agentId: "main", sessionKey: SESSION };
    return captureNumbers(session).flatMap((number) => {
      const facts = readCapture(session, number);
      const harness = facts && readPart(session, facts, "harness");
      if (!harness) return [];
      return [
        { facts, harness: String(harness.bytes), sent: readPart(session, facts, "sent")?.bytes.toString() },
      ];
    });
  }

  /** The whole conversation, one line for each message. */
  transcript(): string[] {
    const args = [MAIN, "sessions", "show", SESSION, "--json"];
    const shown = spawnSync(process.execPath, args, { env: this.run.env(), encoding: "utf8" });
    assert.equal(shown.status, 0, shown.stderr);
    const entries = shown.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as TranscriptEntry);
    return entries.flatMap((entry) => (entry.type === "message" ? [lineOf(entry.message)] : []));
  }

  /** Captures for the docs are written with `PAGURUS_SCREENS=1`. */
  keep(name: string): void {
    if (process.env["PAGURUS_SCREENS"] !== "1") return;
    mkdirSync(SCREENS, { recursive: true });
    writeFileSync(join(SCREENS, `${this.#program.name}-${name}.txt`), this.#cleaned());
  }

  /** Without the machine's paths, and without messages about a state in a temporary folder. */
  #cleaned(): string {
    const lines = this.#tmux("capture-pane", "-p", "-J").split("\n");
    const own = lines.filter((line) => !line.startsWith("WARNING: proceeding")).map((line) => line.trimEnd());
    const neutral = own
      .join("\n")
      .replaceAll(this.run.root, "~")
      .replaceAll(/^ready>/gm, "$");
    return `${neutral.replace(/^\n+/, "").trimEnd()}\n`;
  }

  #tmux(...args: string[]): string {
    return execFileSync("tmux", ["-S", join(this.run.root, "tmux"), ...args], { encoding: "utf8" });
  }

  async end(): Promise<void> {
    try {
      this.terminal.end();
    } finally {
      await this.run.end();
    }
  }
}

/** A folder with the files that the typed prompts name. */
function programs({ root }: WrapRun, { name, path }: Program): string {
  const bin = join(root, "bin");
  mkdirSync(bin);
  symlinkSync(path, join(bin, name));
  const pagurus = join(bin, "pagurus");
  writeFileSync(pagurus, `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
  chmodSync(pagurus, 0o755);
  return bin;
}

function logOf(season: string): string {
  const line = (_: unknown, at: number): string => `${season}, ship ${at + 1} came in, cargo ${at * 37}`;
  return `${Array.from({ length: SHIPS }, line).join("\n")}\n`;
}

/** Only the first words of a result, which the programs cut as they like. */
function lineOf({ role, content }: AgentMessage): string {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const words = parts.map((part) => (part.type === "text" ? part.text.trim() : `[${part.type}]`)).join(" ");
  return role === "toolResult" ? "result" : `${role}: ${words}`;
}

/** Neither a request for a title nor one of the engine. */
function isMain(request: RecordedRequest): boolean {
  const { body } = request;
  const isTitle = turnMetadata(request).includes('"thread_source":"thread_title"');
  return !isTitle && Array.isArray(body["tools"]) && body["tools"].length > 0;
}

/** The model has no memory but the request. */
function answer(program: Program, request: RecordedRequest, index: number): ReplyStep {
  if (!isMain(request))
    return {
      text: request.text.includes("<transcript>") ? "The logs were read." : '{"title":"The harbour"}',
    };
  const lines = program.lines(request).filter((line) => !/^(?:user: <|system: )/.test(line));
  const question = lines.findLast((line) => line.startsWith("user: ")) ?? "";
  const isDone = lines.at(-1)?.startsWith("result ") === true;
  const call = (command: string): ReplyStep => ({ toolCalls: [program.call(`call_${index}`, command)] });
  const season = SEASONS.find((each) => question.includes(`${each}.log`));
  if (season !== undefined)
    return isDone ? { text: `${SHIPS} ships came in ${season}.` } : call(`cat ${season}.log`);
  if (question.includes("Write it down"))
    return isDone ? { text: "It is written." } : call("touch ships.txt");
  if (question.includes("story")) return { text: STORY, delayMs: 100 };
  if (question.includes("where the spare key is"))
    return { text: request.text.includes("berth 7") ? "In berth 7." : "I do not know." };
  return { text: "Noted." };
}

import { createInterface, type Interface } from "node:readline";
import type { AskPermission, PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import { turnGauge } from "@pagurus/host/command/context-gauge";
import { oneLine } from "@pagurus/host/command/layout";
import { hasColours, printLine, styleFor, type Cli, type OutputStream } from "../cli.ts";
import { TurnOutput, type TextRenderer } from "../run/turn-output.ts";
import {
  clipboardSequence,
  type ChatView,
  type CommandView,
  type TurnView,
  type ViewEvents,
  type ViewFacts,
} from "./chat-view.ts";
import type { ToolOutputs } from "./tool-outputs.ts";
import { EditorTerminal } from "./editor-terminal.ts";
import { HeldOutput } from "../run/held-output.ts";
import { PASTE_MODE_OFF, PASTE_MODE_ON, PasteKeys } from "./paste-keys.ts";
import { oneAtATime, questionText, readQuestionAnswer } from "./permission-prompt.ts";

interface ScreenOptions {
  /** Command names that complete a line, with their slash; called at the tab key. */
  commands(): Promise<string[]>;
  notifyCompactions: boolean;
  outputs: ToolOutputs;
}

/** Row of the cursor in the line being typed, from the editor's last drawing; Node does not declare it. */
type EditorRows = Interface & { prevRows?: number };

type CompleterDone = (error: null, result: [string[], string]) => void;

/**
 * Input lines and turn output on one terminal. While the person types or a question is open, output is held back until the line
 * is sent or emptied. Without a terminal it only reads lines.
 */
export class ChatScreen implements ChatView {
  readonly keys = "/help lists the commands; Ctrl-O opens tool output, Ctrl-C aborts a turn, Ctrl-D leaves.";
  readonly interactive: boolean;
  /** For the answer's text. */
  readonly text: OutputStream;
  /** For everything else. */
  readonly activity: OutputStream;
  readonly #cli: Cli;
  readonly #lines: Interface;
  /** Absent without a terminal. */
  readonly #terminal: EditorTerminal | undefined;
  readonly #events: ViewEvents;
  readonly #options: ScreenOptions;
  readonly #output = new HeldOutput();
  /** Absent without a terminal. */
  readonly #keys: PasteKeys | undefined;
  #typing = false;
  #prompting = false;
  #unfinished = "";
  #closed = false;
  #answer: ((line: string) => void) | undefined;

  constructor(cli: Cli, events: ViewEvents, options: ScreenOptions) {
    this.#cli = cli;
    this.#events = events;
    this.#options = options;
    this.interactive = cli.stdin.isTTY === true && cli.stdout.isTTY === true;
    this.text = this.#output.writer(cli.stdout);
    this.activity = this.#output.writer(cli.stderr);
    this.#keys = this.interactive
      ? new PasteKeys(cli.stdin, {
          before: (inserts) => this.#beforeKey(inserts),
          after: () => this.#afterKey(),
          open: () => events.open(),
        })
      : undefined;
    this.#terminal = this.interactive ? new EditorTerminal(cli.stdout, () => this.#resized()) : undefined;
    this.#lines = createInterface({
      input: this.#keys?.input ?? cli.stdin,
      ...(this.#terminal ? { output: this.#terminal, terminal: true } : {}),
      completer: (line: string, done: CompleterDone) => this.#complete(line, done),
      historySize: 500,
      removeHistoryDuplicates: true,
      prompt: "",
    });
    this.#lines.on("line", (line) => this.#line(line));
    this.#lines.on("close", () => this.#close());
    if (!this.interactive) return;
    this.#lines.on("SIGINT", () => events.interrupt());
    // The shell in between has set up the terminal for itself.
    this.#lines.on("SIGCONT", () => void cli.stdout.write(PASTE_MODE_ON));
    cli.stdout.write(PASTE_MODE_ON);
  }

  /** Text appears as Markdown where the terminal has colours. */
  async turn(): Promise<TurnView> {
    const { text, activity } = this;
    const { env } = this.#cli;
    const { notifyCompactions, outputs } = this.#options;
    return new TurnOutput(text, activity, env, {
      quiet: () => this.#output.holding,
      notifyCompactions,
      render: await this.#renderer(),
      outputs,
      spin: this.interactive && env["TERM"] !== "dumb",
    });
  }

  command(): CommandView {
    return {
      push: (chunk) => void this.text.write(chunk),
      end: ({ code }) => {
        this.#output.endLine(this.#cli.stdout);
        if (code !== 0) printLine(this.activity, `exit ${code ?? "by a signal"}`);
      },
    };
  }

  async #renderer(): Promise<TextRenderer | undefined> {
    const { text } = this;
    if (!this.interactive || !hasColours(text, this.#cli.env)) return undefined;
    const { MarkdownStream } = await import("./markdown.ts");
    return new MarkdownStream(() => text.columns);
  }

  /** The line is on the terminal since it was typed. */
  entered(): void {}

  /** Shown as a note when it joins. */
  waiting(): void {}

  copy(text: string): void {
    if (this.interactive) this.#cli.stdout.write(clipboardSequence(text));
  }

  /** Lines end where they were printed: nothing is repeated. */
  past(): void {}

  restore(texts: readonly string[]): void {
    for (const text of texts) printLine(this.activity, `not sent: ${oneLine(text, 300)}`);
  }

  suggest(text: string): void {
    printLine(this.activity, `Try: ${text}`);
  }

  about({ summary }: ViewFacts): void {
    const { activity } = this;
    if (!summary || activity.isTTY !== true) return;
    const line = turnGauge(summary, activity.columns);
    if (line !== undefined) printLine(activity, styleFor(this.#cli.stderr, this.#cli.env)("dim", line));
  }

  /** Shows the prompt and accepts input; held-back output is released. */
  prompt(): void {
    if (!this.interactive) return;
    this.#release();
    this.#output.endLine(this.#cli.stdout);
    this.#prompting = true;
    this.#showPrompt();
  }

  /** Shows lines above the line being typed, or among the output if there is none. */
  above(text: string): void {
    if (!this.#lineShown) return void this.activity.write(`${text}\n`);
    this.#clearPrompt();
    this.#cli.stderr.write(`${text}\n`);
    return this.#lines.prompt(true);
  }

  /** Discards typed but unsent input; false when there was none. */
  discardInput(): boolean {
    if (!this.interactive || (this.#unfinished === "" && this.#lines.line === "")) return false;
    this.#unfinished = "";
    this.#clearInput();
    this.#cli.stdout.write("\n");
    this.#showPrompt();
    return true;
  }

  /** Permission prompt on the terminal; undefined without a terminal. */
  permission(): AskPermission | undefined {
    return this.interactive ? oneAtATime((question) => this.#ask(question)) : undefined;
  }

  /** Restores the terminal. */
  close(): void {
    this.#release();
    this.#output.endLine(this.#cli.stdout);
    // The shell's next output starts on a line of its own.
    if (this.#prompting) this.#cli.stdout.write("\n");
    this.#prompting = false;
    if (this.interactive) this.#cli.stdout.write(PASTE_MODE_OFF);
    this.#lines.close();
    this.#terminal?.release();
    if (this.interactive) this.#cli.stdin.pause();
  }

  /** Completes the name of a command; nothing after it. */
  #complete(line: string, done: CompleterDone): void {
    if (!/^\/\S*$/.test(line)) return done(null, [[], line]);
    this.#options.commands().then(
      (names) => done(null, [names.filter((name) => name.startsWith(line.toLowerCase())), line]),
      () => done(null, [[], line]),
    );
    return undefined;
  }

  #clearInput(): void {
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
  }

  /** Whether the line being typed is on the terminal. */
  get #lineShown(): boolean {
    return (
      this.interactive && !this.#closed && (this.#prompting || this.#typing || this.#answer !== undefined)
    );
  }

  /** Redraws for the new width: the terminal rewraps its lines, so the cursor is in another row of the line. */
  #resized(): boolean {
    if (this.#lineShown) (this.#lines as EditorRows).prevRows = this.#lines.getCursorPos().rows;
    return this.#lineShown;
  }

  /** Clears the prompt and the typed text from the terminal; both stay in the editor. */
  #clearPrompt(): void {
    const { rows } = this.#lines.getCursorPos();
    this.#cli.stdout.write(`${rows > 0 ? `\u001b[${rows}A` : ""}\r\u001b[J`);
    (this.#lines as EditorRows).prevRows = 0;
  }

  #showPrompt(): void {
    const style = styleFor(this.#cli.stdout, this.#cli.env);
    this.#lines.setPrompt(style("bold", this.#unfinished === "" ? "› " : "… "));
    this.#lines.prompt(true);
  }

  #line(line: string): void {
    this.#output.lineOpen = false;
    if (this.#answer) return this.#answer(line);
    const prompted = this.#prompting;
    this.#prompting = false;
    this.#typing = false;
    this.#output.release();
    if (line.endsWith("\\")) {
      this.#unfinished += `${line.slice(0, -1)}\n`;
      if (!this.interactive) return undefined;
      if (prompted) this.#prompting = true;
      else this.#startTyping();
      return this.#showPrompt();
    }
    const whole = this.#unfinished + line;
    this.#unfinished = "";
    return this.#events.line(this.#keys?.expand(whole) ?? whole);
  }

  #close(): void {
    this.#closed = true;
    if (this.#answer) this.#cli.stderr.write("\n");
    this.#answer?.("");
    if (this.#unfinished !== "") this.#events.line(this.#keys?.expand(this.#unfinished) ?? this.#unfinished);
    this.#unfinished = "";
    this.#events.end();
  }

  /** The first character typed during a turn starts a line of its own. */
  #beforeKey(inserts: boolean): void {
    if (!inserts || this.#prompting || this.#answer || this.#typing) return;
    this.#startTyping();
    this.#showPrompt();
  }

  #afterKey(): void {
    if (this.#typing && !this.#answer && this.#lines.line === "" && this.#unfinished === "") this.#release();
  }

  #startTyping(): void {
    this.#typing = true;
    this.#output.hold();
    this.#output.endLine(this.#cli.stdout);
  }

  /** Clears the line being typed from the terminal (not from the input) and writes the held-back output. */
  #release(): void {
    if (this.#typing) this.#clearPrompt();
    this.#typing = false;
    this.#output.release();
  }

  #ask(question: PermissionQuestion): Promise<PermissionAnswer> {
    this.#release();
    this.#output.endLine(this.#cli.stdout);
    if (this.#closed) return Promise.resolve("deny");
    // A half-typed line was not meant as the answer; it is restored after the question.
    const halfTyped = this.#lines.line;
    this.#lines.setPrompt("");
    this.#clearInput();
    this.#output.hold();
    const text = questionText(this.#cli, question);
    const cut = text.lastIndexOf("\n") + 1;
    this.#cli.stderr.write(text.slice(0, cut));
    this.#lines.setPrompt(text.slice(cut));
    this.#lines.prompt();
    return new Promise((resolve) => {
      const done = (line: string): void => {
        question.signal.removeEventListener("abort", onAbort);
        this.#answer = undefined;
        this.#output.release();
        this.#restore(halfTyped);
        const answer = readQuestionAnswer(question, this.#keys?.expand(line) ?? line);
        if (typeof answer === "string" || !("problem" in answer)) return resolve(answer);
        this.#cli.stderr.write(`${answer.problem}\n`);
        resolve(this.#ask(question));
      };
      const onAbort = (): void => {
        this.#lines.setPrompt("");
        if (!this.#closed) this.#clearInput();
        done("");
      };
      question.signal.addEventListener("abort", onAbort, { once: true });
      this.#answer = done;
    });
  }

  #restore(halfTyped: string): void {
    if (this.#closed || (halfTyped === "" && this.#unfinished === "" && !this.#prompting)) return;
    if (!this.#prompting) this.#startTyping();
    this.#showPrompt();
    this.#lines.write(halfTyped);
  }
}

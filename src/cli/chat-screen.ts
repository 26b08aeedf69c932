import { createInterface, type Interface } from "node:readline";
import type { AskPermission, PermissionQuestion } from "../contract/run.ts";
import { styleFor, type Cli, type OutputStream } from "./cli.ts";
import { HeldOutput } from "./held-output.ts";
import { PASTE_MODE_OFF, PASTE_MODE_ON, PasteKeys } from "./paste-keys.ts";
import { oneAtATime, parseAnswer, questionText } from "./permission-prompt.ts";

interface ScreenEvents {
  /** A whole input; lines ended by a backslash are joined. */
  line(text: string): void;
  /** Ctrl-C, or an interrupt from outside. */
  interrupt(): void;
  /** The input has ended. */
  end(): void;
  /** Names that a line may begin with, with their slash; asked at the tab key. */
  commands(): Promise<string[]>;
}

type CompleterDone = (error: null, result: [string[], string]) => void;

/**
 * The lines a person types and the text a turn writes, on one terminal. While the person types or is asked, output
 * is held back; it follows when the line is sent or emptied. Without a terminal it only reads lines.
 */
export class ChatScreen {
  readonly interactive: boolean;
  /** For the answer's text. */
  readonly text: OutputStream;
  /** For everything else. */
  readonly activity: OutputStream;
  readonly #cli: Cli;
  readonly #lines: Interface;
  readonly #events: ScreenEvents;
  readonly #output = new HeldOutput();
  /** Absent without a terminal. */
  readonly #keys: PasteKeys | undefined;
  #typing = false;
  #prompting = false;
  #unfinished = "";
  #closed = false;
  #answer: ((line: string) => void) | undefined;

  constructor(cli: Cli, events: ScreenEvents) {
    this.#cli = cli;
    this.#events = events;
    this.interactive = cli.stdin.isTTY === true && cli.stdout.isTTY === true;
    this.text = this.#output.writer(cli.stdout);
    this.activity = this.#output.writer(cli.stderr);
    this.#keys = this.interactive
      ? new PasteKeys(cli.stdin, {
          before: (inserts) => this.#beforeKey(inserts),
          after: () => this.#afterKey(),
        })
      : undefined;
    this.#lines = createInterface({
      input: this.#keys?.input ?? cli.stdin,
      ...(this.#keys ? { output: cli.stdout as NodeJS.WriteStream, terminal: true } : {}),
      completer: (line: string, done: CompleterDone) => this.#complete(line, done),
      historySize: 500,
      removeHistoryDuplicates: true,
      prompt: "",
    });
    this.#lines.on("line", (line) => this.#line(line));
    this.#lines.on("close", () => this.#close());
    if (!this.interactive) return;
    this.#lines.on("SIGINT", () => events.interrupt());
    // The shell that had the terminal meanwhile has set it up for itself.
    this.#lines.on("SIGCONT", () => void cli.stdout.write(PASTE_MODE_ON));
    cli.stdout.write(PASTE_MODE_ON);
  }

  /** Whether the person types or is asked, so that nothing else may be shown. */
  get busy(): boolean {
    return this.#output.holding;
  }

  /** Shows the prompt and lets the person type; nothing is held back then. */
  prompt(): void {
    if (!this.interactive) return;
    this.#release();
    this.#output.endLine(this.#cli.stdout);
    this.#prompting = true;
    this.#showPrompt();
  }

  /** Throws away what is typed but not sent; false when there was nothing. */
  discardInput(): boolean {
    if (!this.interactive || (this.#unfinished === "" && this.#lines.line === "")) return false;
    this.#unfinished = "";
    this.#clearInput();
    this.#cli.stdout.write("\n");
    this.#showPrompt();
    return true;
  }

  /** Asks the person for permission; undefined where nobody sits. */
  permission(): AskPermission | undefined {
    return this.interactive ? oneAtATime((question) => this.#ask(question)) : undefined;
  }

  /** Leaves the terminal as it was found. */
  close(): void {
    this.#release();
    this.#output.endLine(this.#cli.stdout);
    if (this.interactive) this.#cli.stdout.write(PASTE_MODE_OFF);
    this.#lines.close();
    if (this.interactive) this.#cli.stdin.pause();
  }

  /** Nothing is completed behind the name of a command. */
  #complete(line: string, done: CompleterDone): void {
    if (!/^\/\S*$/.test(line)) return done(null, [[], line]);
    this.#events.commands().then(
      (names) => done(null, [names.filter((name) => name.startsWith(line.toLowerCase())), line]),
      () => done(null, [[], line]),
    );
    return undefined;
  }

  #clearInput(): void {
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
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

  /** The first word typed while a turn writes gets a line of its own. */
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

  /** Clears the line being typed from the terminal (not from the input) and writes what was held back. */
  #release(): void {
    if (this.#typing) this.#cli.stdout.write("\r\u001b[J");
    this.#typing = false;
    this.#output.release();
  }

  #ask(question: PermissionQuestion): Promise<"once" | "always" | "deny"> {
    this.#release();
    this.#output.endLine(this.#cli.stdout);
    if (this.#closed) return Promise.resolve("deny");
    // A line half typed was not meant as the answer; it comes back behind it.
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
        resolve(parseAnswer(line));
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

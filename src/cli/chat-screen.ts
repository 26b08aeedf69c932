import { createInterface, type Interface } from "node:readline";
import type { AskPermission, PermissionQuestion } from "../contract/host.ts";
import { styleFor, type Cli, type OutputStream } from "./cli.ts";
import { oneAtATime, parseAnswer, questionText } from "./permission-prompt.ts";

interface ScreenEvents {
  /** A whole input; lines ended by a backslash are joined. */
  line(text: string): void;
  /** Ctrl-C, or an interrupt from outside. */
  interrupt(): void;
  /** The input has ended. */
  end(): void;
}

/**
 * The lines a person types and the text a turn writes, on one terminal. While the person types, output is held
 * back and follows when the line is sent or emptied. Without a terminal it only reads lines.
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
  #held: (() => void)[] = [];
  #typing = false;
  #prompting = false;
  /** The cursor stands behind output that has no newline yet. */
  #lineOpen = false;
  #unfinished = "";
  #closed = false;
  #answer: ((line: string) => void) | undefined;

  constructor(cli: Cli, events: ScreenEvents) {
    this.#cli = cli;
    this.#events = events;
    this.interactive = cli.stdin.isTTY === true && cli.stdout.isTTY === true;
    this.text = this.#writer(cli.stdout);
    this.activity = this.#writer(cli.stderr);
    this.#lines = createInterface({
      input: cli.stdin,
      ...(this.interactive ? { output: cli.stdout as NodeJS.WriteStream, terminal: true } : {}),
      historySize: 500,
      removeHistoryDuplicates: true,
      prompt: "",
    });
    this.#lines.on("line", (line) => this.#line(line));
    this.#lines.on("close", () => this.#close());
    if (!this.interactive) return;
    this.#lines.on("SIGINT", () => events.interrupt());
    cli.stdin.on("keypress", () => this.#key());
  }

  /** Shows the prompt and lets the person type; nothing is held back then. */
  prompt(): void {
    if (!this.interactive) return;
    this.#release();
    this.#endLine();
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

  close(): void {
    this.#release();
    this.#endLine();
    this.#lines.close();
  }

  #writer(stream: OutputStream): OutputStream {
    return {
      isTTY: stream.isTTY,
      columns: stream.columns,
      write: (data) => {
        const act = (): void => {
          stream.write(data);
          if (stream.isTTY === true && data.length > 0)
            this.#lineOpen = data.at(-1) !== "\n" && data.at(-1) !== 10;
        };
        if (this.#typing) this.#held.push(act);
        else act();
        return true;
      },
    };
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
    const prompted = this.#prompting;
    this.#prompting = false;
    this.#typing = false;
    this.#lineOpen = false;
    this.#flush();
    if (this.#answer) return this.#answer(line);
    if (line.endsWith("\\")) {
      this.#unfinished += `${line.slice(0, -1)}\n`;
      if (!this.interactive) return undefined;
      this.#prompting = prompted;
      this.#typing = !prompted;
      return this.#showPrompt();
    }
    const whole = this.#unfinished + line;
    this.#unfinished = "";
    return this.#events.line(whole);
  }

  #close(): void {
    this.#closed = true;
    if (this.#answer) this.#cli.stderr.write("\n");
    this.#answer?.("");
    if (this.#unfinished !== "") this.#events.line(this.#unfinished);
    this.#unfinished = "";
    this.#events.end();
  }

  /** After each key while a turn writes: the first one moves the input to a line of its own. */
  #key(): void {
    if (this.#prompting || this.#answer) return;
    const typing = this.#lines.line !== "";
    if (typing === this.#typing) return;
    if (typing) {
      this.#typing = true;
      // The key was echoed behind the output; it is shown again with the prompt.
      this.#cli.stdout.write("\b \b");
      this.#endLine();
      this.#showPrompt();
    } else this.#release();
  }

  #endLine(): void {
    if (this.#lineOpen) this.#cli.stdout.write("\n");
    this.#lineOpen = false;
  }

  /** Clears the line being typed from the terminal (not from the input) and writes what was held back. */
  #release(): void {
    if (this.#typing) this.#cli.stdout.write("\r\u001b[J");
    this.#typing = false;
    this.#flush();
  }

  #flush(): void {
    const held = this.#held;
    this.#held = [];
    for (const act of held) act();
  }

  #ask(question: PermissionQuestion): Promise<"once" | "always" | "deny"> {
    this.#release();
    this.#endLine();
    if (this.#closed) return Promise.resolve("deny");
    // A line half typed was not meant as the answer.
    this.#lines.setPrompt("");
    this.#clearInput();
    const text = questionText(this.#cli, question);
    const cut = text.lastIndexOf("\n") + 1;
    this.#cli.stderr.write(text.slice(0, cut));
    this.#lines.setPrompt(text.slice(cut));
    this.#lines.prompt();
    return new Promise((resolve) => {
      const done = (line: string): void => {
        question.signal.removeEventListener("abort", onAbort);
        this.#answer = undefined;
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
}

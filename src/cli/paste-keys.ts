import { emitKeypressEvents, type Key } from "node:readline";
import { Readable } from "node:stream";
import { plural, terminalSafe } from "../command/layout.ts";
import type { Cli } from "./cli.ts";

/** Asks a terminal to say where a paste begins and ends (xterm's "bracketed paste"), and to stop that. */
export const PASTE_MODE_ON = "\u001b[?2004h";
export const PASTE_MODE_OFF = "\u001b[?2004l";

interface KeyEvents {
  /** Before a key reaches the line; `inserts` says that it will put something into it. */
  before(inserts: boolean): void;
  after(): void;
}

/** Keys that bring a line back from the history. */
function recalls(key: Key): boolean {
  return key.name === "up" || key.name === "down" || (key.ctrl === true && /^[pnyr]$/.test(key.name ?? ""));
}

function insertsText(text: string | undefined, key: Key): boolean {
  if (key.ctrl === true || key.meta === true) return false;
  return text !== undefined && text !== "" && !/^[\u0000-\u001f\u007f]/.test(text);
}

/**
 * The keys of a terminal, with each paste as one insertion into the line. A line cannot hold newlines, so a paste of
 * several lines stands in it as `[paste 1: 12 lines]` until `expand`.
 */
export class PasteKeys {
  /** What the line editor reads. */
  readonly input: NodeJS.ReadableStream;
  readonly #events: KeyEvents;
  readonly #pastes = new Map<string, string>();
  /** What came of a paste that has not ended. */
  #pasting: string | undefined;

  constructor(terminal: Cli["stdin"], events: KeyEvents) {
    this.#events = events;
    const raw = terminal as Partial<NodeJS.ReadStream>;
    const input = new Readable({ read: () => undefined });
    this.input = Object.assign(input, {
      isTTY: true,
      setRawMode: (on: boolean) => raw.setRawMode?.(on),
    });
    emitKeypressEvents(terminal);
    terminal.on("keypress", (text: string | undefined, key: Key) => this.#key(text, key));
    terminal.once("end", () => input.push(null));
    terminal.resume();
  }

  /** The line as it was meant: with the words of its pastes. */
  expand(line: string): string {
    if (this.#pastes.size === 0) return line;
    const whole = line.replace(/\[paste \d+: [\d,]+ lines\]/g, (mark) => this.#pastes.get(mark) ?? mark);
    // A pasted text is no command; one more slash says so, and is taken away with the next one.
    return whole !== line && line.startsWith("[paste ") && whole.startsWith("/") ? `/${whole}` : whole;
  }

  #key(text: string | undefined, key: Key): void {
    if (key.name === "paste-start") this.#pasting = "";
    else if (key.name === "paste-end") this.#paste();
    // A terminal that never says where its paste ends can still be interrupted.
    else if (this.#pasting !== undefined && !(key.ctrl === true && key.name === "c")) {
      this.#pasting += key.sequence ?? text ?? "";
    } else {
      this.#pasting = undefined;
      this.#send(text, key, insertsText(text, key) || recalls(key));
    }
  }

  #paste(): void {
    const words = terminalSafe((this.#pasting ?? "").replace(/\r\n?/g, "\n")).replace(/\n+$/, "");
    this.#pasting = undefined;
    if (words === "") return;
    const lines = words.split("\n").length;
    let shown = words;
    if (lines > 1) {
      shown = `[paste ${this.#pastes.size + 1}: ${plural(lines, "line")}]`;
      this.#pastes.set(shown, words);
    }
    this.#send(shown, { sequence: shown }, true);
  }

  #send(text: string | undefined, key: Key, inserts: boolean): void {
    this.#events.before(inserts);
    this.input.emit("keypress", text, key);
    this.#events.after();
  }
}

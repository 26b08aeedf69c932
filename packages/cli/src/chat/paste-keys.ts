import { emitKeypressEvents, type Key } from "node:readline";
import { Readable } from "node:stream";
import { plural } from "@pagurus/core/data/plain-numbers";
import { terminalSafe } from "@pagurus/host/command/layout";
import type { Cli } from "../cli.ts";

/** Terminal codes that switch xterm's "bracketed paste" on and off. */
export const PASTE_MODE_ON = "\u001b[?2004h";
export const PASTE_MODE_OFF = "\u001b[?2004l";

interface KeyEvents {
  /** Called before a key reaches the line; `inserts`: the key will insert text. */
  before(inserts: boolean): void;
  after(): void;
  /** Ctrl-O, which does not edit the line. */
  open(): void;
}

/** Whether a key brings back a line from the history. */
function recalls(key: Key): boolean {
  return key.name === "up" || key.name === "down" || (key.ctrl === true && /^[pnyr]$/.test(key.name ?? ""));
}

function insertsText(text: string | undefined, key: Key): boolean {
  if (key.ctrl === true || key.meta === true) return false;
  return text !== undefined && text !== "" && !/^[\u0000-\u001f\u007f]/.test(text);
}

/**
 * Key input of a terminal, with each paste as one insertion into the line. A line cannot contain newlines, so a paste of
 * several lines is shown as `[paste 1: 12 lines]` until `expand`.
 */
export class PasteKeys {
  /** Input stream of the line editor. */
  readonly input: NodeJS.ReadableStream;
  readonly #events: KeyEvents;
  readonly #pastes = new Map<string, string>();
  /** Text of an unfinished paste. */
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

  /** The line with the text of its pastes inserted. */
  expand(line: string): string {
    if (this.#pastes.size === 0) return line;
    const whole = line.replace(/\[paste \d+: [\d,]+ lines\]/g, (mark) => this.#pastes.get(mark) ?? mark);
    // Pasted text is not a command; one more slash marks that, and is removed with the escape.
    return whole !== line && line.startsWith("[paste ") && whole.startsWith("/") ? `/${whole}` : whole;
  }

  #key(text: string | undefined, key: Key): void {
    if (key.name === "paste-start") this.#pasting = "";
    else if (key.name === "paste-end") this.#paste();
    // Ctrl-C works even if a terminal never marks the end of its paste.
    else if (this.#pasting !== undefined && !(key.ctrl === true && key.name === "c")) {
      this.#pasting += key.sequence ?? text ?? "";
    } else {
      this.#pasting = undefined;
      if (key.ctrl === true && key.name === "o") return this.#events.open();
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

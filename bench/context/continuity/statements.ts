/** What the lines of a context state about files, steps and commands. The last statement counts, as it does for a reader. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import type { Effect, FileState } from "./state.ts";

interface Line {
  text: string;
  /** The heading above that names the kind of these lines; empty where there is none. */
  heading: string;
  /** Of a result that is an error. */
  isError: boolean;
  /** The call that the line is. */
  callId?: string;
}

const OPEN =
  /\b(?:open|pending|to ?do|next|in[ _]progress|remaining|unfinished|not (?:yet )?done|started)\b/i;
const DONE = /\b(?:done|finished|completed?|closed)\b/i;
const FAILED = /\b(?:fail(?:s|ed|ure)?|errors?|refused|denied|not answered)\b/i;
const CUT_OFF =
  /\b(?:abort(?:ed)?|interrupt(?:ed)?|cut off|outcome is unknown|stopped|no result|not finished)\b/i;
/** How words and calls state a file's state; the first that matches a line counts. */
const STATES: readonly [FileState, RegExp][] = [
  ["gone", /\b(?:rm|removed?|deleted?|gone)\b/i],
  ["changed", /\b(?:writ(?:e|es|ten)|wrote|edit(?:s|ed)?|changed?|created?|modified|updated?)\b/i],
  ["seen", /\b(?:read|reads|seen|viewed|looked|look)\b/i],
];
/** A failed change says nothing about the state. */
const TRIED = /\b(?:last )?(?:write|edit|delete) failed\b/gi;
const RENAME = /\b(?:mv|renamed:?|moved:?)\s+(\S+)\s+(?:(?:to|->|→)\s+)?(\S+)/i;
/** Files of one folder listed together: `src/mail/{a.ts, b.ts}`. */
const FOLDER = /([\w./-]+\/)\{([\w., -]+)\}/g;
/** Keys of a line: paths and marks. */
const NAME = /[\w./-]*[\w/-]/g;

function expanded(text: string): string {
  if (!text.includes("/{")) return text;
  return text.replaceAll(FOLDER, (_whole, folder: string, names: string) =>
    names
      .split(/,\s*/)
      .map((name) => folder + name)
      .join(", "),
  );
}

/** Sections such as `## Files changed` state the state of the lines below them. */
function linesOfText(text: string, isError: boolean): Line[] {
  let heading = "";
  return text.split("\n").map((line) => {
    if (/^(?:#+ |\*\*|<|[A-Z][^.]{0,60}:$)/.test(line.trim())) heading = line;
    else if (line.trim() === "") heading = "";
    return { text: expanded(line), heading, isError };
  });
}

/** A call is one line, with its name and its arguments. */
function linesOf(message: AgentMessage): Line[] {
  if (message.role !== "assistant")
    return linesOfText(textOfMessage(message), message.role === "toolResult" && message.isError);
  return message.content.flatMap((part): Line[] => {
    if (part.type === "text") return linesOfText(part.text, false);
    if (part.type !== "toolCall") return [];
    const { path, command, step, status } = part.arguments;
    const named = [path, command, step, status].filter((value) => typeof value === "string");
    return [{ text: `${part.name} ${named.join(" ")}`, heading: "", isError: false, callId: part.id }];
  });
}

/** Lines of messages by what they name; computed once for each message. */
export class LineIndex {
  readonly #made = new WeakMap<AgentMessage, ReadonlyMap<string, readonly Line[]>>();

  of(message: AgentMessage): ReadonlyMap<string, readonly Line[]> {
    let lines = this.#made.get(message);
    if (!lines) this.#made.set(message, (lines = byName(linesOf(message))));
    return lines;
  }
}

function byName(lines: readonly Line[]): Map<string, Line[]> {
  const named = new Map<string, Line[]>();
  for (const line of lines) {
    for (const name of new Set(line.text.match(NAME))) {
      if (!/[/-]/.test(name)) continue;
      const known = named.get(name);
      if (known) known.push(line);
      else named.set(name, [line]);
    }
  }
  return named;
}

/** The statements of one context. */
export class Statements {
  readonly #messages: readonly AgentMessage[];
  readonly #index: LineIndex;
  readonly #failed: ReadonlySet<string>;
  readonly #quoted: ReadonlySet<string>;

  /** `userTexts`: the user's messages are no statements about what is done, wherever they are quoted. */
  constructor(messages: readonly AgentMessage[], userTexts: readonly string[], index: LineIndex) {
    this.#messages = messages;
    this.#index = index;
    this.#failed = new Set(
      messages.flatMap((message) =>
        message.role === "toolResult" && message.isError ? [message.toolCallId] : [],
      ),
    );
    this.#quoted = new Set(userTexts.flatMap((text) => text.split("\n").map((line) => line.trim())));
  }

  /** Lines that name it, oldest first, with whether they are of a call that has failed. */
  *#lines(name: string): Generator<Line & { failed: boolean }> {
    for (const message of this.#messages) {
      for (const line of this.#index.of(message).get(name) ?? []) {
        if (this.#quoted.has(line.text.trim())) continue;
        const failed = line.isError || (line.callId !== undefined && this.#failed.has(line.callId));
        yield { ...line, failed };
      }
    }
  }

  /** The state of a file by its last statement; undefined without one. */
  file(path: string): FileState | undefined {
    let stated: FileState | undefined;
    for (const line of this.#lines(path)) {
      const state = line.failed ? undefined : stateOf(path, line);
      // A file that was changed and is read again is still a changed one.
      if (state === undefined || (state === "seen" && stated === "changed")) continue;
      stated = state;
    }
    return stated;
  }

  /** The outcome of a command by its mark; undefined without a statement. */
  outcome(mark: string): Effect["outcome"] | undefined {
    let stated: Effect["outcome"] | undefined;
    for (const { text, failed } of this.#lines(mark)) {
      if (failed) stated = "failed";
      else if (DONE.test(text)) stated = "done";
      else if (FAILED.test(text)) stated = "failed";
    }
    return stated;
  }

  /** True if the command with the mark is stated as not finished. */
  isCutOff(mark: string): boolean {
    let stated = false;
    for (const { text, failed } of this.#lines(mark)) {
      if (failed || CUT_OFF.test(text)) stated = true;
      else if (DONE.test(text)) return false;
    }
    return stated;
  }

  /** The state of a step by its mark. A line that states both, such as a call that set it open and is done, counts as neither. */
  step(mark: string): "open" | "done" | undefined {
    let stated: "open" | "done" | undefined;
    for (const { text } of this.#lines(mark)) {
      const [open, done] = [OPEN.test(text), DONE.test(text)];
      if (open !== done) stated = open ? "open" : "done";
    }
    return stated;
  }
}

function stateIn(text: string): FileState | undefined {
  return STATES.find(([, pattern]) => pattern.test(text))?.[0];
}

function stateOf(path: string, { text, heading }: Line): FileState | undefined {
  const rest = text.replaceAll(path, " ").replaceAll(TRIED, " ");
  if (FAILED.test(`${heading} ${rest}`) && !DONE.test(rest)) return undefined;
  const [, from, to] = RENAME.exec(text) ?? [];
  if (from === path) return "gone";
  if (to === path) return "changed";
  return stateIn(rest) ?? stateIn(heading);
}

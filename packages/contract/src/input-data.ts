/**
 * Separates a person's own text from the data in a user message. The host marks data where an input is made
 * (`TextPart.source`); older transcripts are parsed by the form of their parts. Only a person's own text may become requests or
 * constraints in a summary; whatever comes from data names its source.
 */
import type { TextPart, UserMessage } from "./message.ts";

export interface InputData {
  /** `file src/a.ts`, `standard input`, `quoted text`. */
  source: string;
  /** Without the tags around it. */
  text: string;
}

export interface InputWords {
  /** The person's part of the message as it was written, quoted lines included. */
  typed: string;
  /** The person's own text: `typed` without what it quotes of others. */
  words: string;
  attached: InputData[];
  /** Attached data first, then quoted data. */
  data: InputData[];
}

/** Form of attachments and piped input in older transcripts, with the name of the tag. */
const ATTACHED = /^<((?:file|stdin|message)(?:-\d+)?)(?: (?:path|from)="([^"\n]*)")?>\n([^]*?)\n?<\/\1>$/;
/** Text that programs put in the user's place: the whole of a part, or of a message. */
const PROGRAM =
  /^\s*<(system-reminder|task-notification|environment_context|user_instructions|local-command-stdout|subagent_result|command_file)[\s>][^]*<\/\1>\s*$/;
const PROGRAM_SOURCE = "the program around the conversation";
const QUOTE_SOURCE = "quoted text";

/** A line of quoted mail, and the line that names its writer. */
const QUOTED_LINE = /^\s*>/;
const WROTE = /^\s*\S.{0,200}\S\s*:\s*$/;
/** A line after which everything belongs to another mail. */
const FORWARDED =
  /^\s*(?:-{2,}\s*(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d'origine)\s*-{2,}|begin forwarded message:)\s*$/i;

function escapedName(name: string): string {
  return name
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll("\n", " ");
}

function unescaped(name: string): string {
  return name.replaceAll("&lt;", "<").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

/** First of `file`, `file-1`, … whose closing tag does not occur in the text. */
function freeTag(name: string, text: string): string {
  const isFree = (tag: string): boolean => !new RegExp(`<[\\s\\\\]*/\\s*${tag}(?![\\w-])`, "i").test(text);
  let tag = name;
  for (let count = 1; !isFree(tag); count += 1) tag = `${name}-${count}`;
  return tag;
}

/** Where data comes from: a file, a pipe, a command of the person, or other people, whose names and addresses `sender` has. */
export type DataOrigin = { path: string } | { command: string } | { sender: string } | "stdin";

function originOf(from: DataOrigin): { tag: string; attribute: string; source: string } {
  if (from === "stdin") return { tag: "stdin", attribute: "", source: "standard input" };
  if ("path" in from)
    return { tag: "file", attribute: ` path="${escapedName(from.path)}"`, source: `file ${from.path}` };
  if ("command" in from)
    return {
      tag: "command",
      attribute: ` line="${escapedName(from.command)}"`,
      source: `command ${from.command}`,
    };
  const { sender } = from;
  return { tag: "message", attribute: ` from="${escapedName(sender)}"`, source: `message of ${sender}` };
}

/** The part of an input that holds data: an attached file, text piped in with the prompt, what other people wrote. */
export function dataPart(from: DataOrigin, text: string): TextPart {
  const { tag: name, attribute, source } = originOf(from);
  const tag = freeTag(name, text);
  return {
    type: "text",
    text: `<${tag}${attribute}>\n${text}${text.endsWith("\n") ? "" : "\n"}</${tag}>`,
    source,
  };
}

function attachedIn(part: TextPart): InputData | undefined {
  const [, tag, path, text] = ATTACHED.exec(part.text) ?? [];
  if (tag === undefined || text === undefined) return undefined;
  // Older transcripts have no such parts without a mark.
  if (tag.startsWith("message")) return part.source === undefined ? undefined : { source: part.source, text };
  if (path === undefined) return tag.startsWith("stdin") ? { source: "standard input", text } : undefined;
  return tag.startsWith("file") ? { source: `file ${unescaped(path)}`, text } : undefined;
}

/** Separates lines that quote others from the rest. */
function splitQuotes(text: string): { words: string; quotes: string } {
  const lines = text.split("\n");
  const forwarded = lines.findIndex((line) => FORWARDED.test(line));
  const own = forwarded < 0 ? lines : lines.slice(0, forwarded);
  const words: string[] = [];
  const quotes: string[] = [];
  // Backwards: a line that names a writer is recognized by the quoted line after it.
  let isBeforeQuote = false;
  for (const line of own.toReversed()) {
    const isQuoted = QUOTED_LINE.test(line);
    const names = isBeforeQuote && WROTE.test(line) && /[@\d]/.test(line);
    if (isQuoted) quotes.push(line.replace(/^\s*>\s?/, ""));
    else (names ? quotes : words).push(line);
    if (line.trim() !== "") isBeforeQuote = isQuoted;
  }
  words.reverse();
  quotes.reverse();
  if (forwarded >= 0) quotes.push(...lines.slice(forwarded + 1));
  return { words: words.join("\n"), quotes: quotes.join("\n").trim() };
}

/** Splits a user's message into text and data. A fragment of additional context has no text of the person. */
export function inputWords({ content, fragment }: UserMessage): InputWords {
  const parts: TextPart[] =
    typeof content === "string"
      ? [{ type: "text", text: content }]
      : content.filter((part): part is TextPart => part.type === "text");
  const isMarked = parts.some(({ source }) => source !== undefined);
  const typed: string[] = [];
  const attached: InputData[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.text === "") continue;
    // The first part is the prompt: a tag typed there is the person's own text.
    const known = part.source !== undefined || (!isMarked && index > 0) ? attachedIn(part) : undefined;
    const source = part.source ?? (fragment ? "additional context" : known?.source);
    if (source !== undefined) attached.push({ source, text: known?.text ?? part.text });
    else if (PROGRAM.test(part.text)) attached.push({ source: PROGRAM_SOURCE, text: part.text });
    else typed.push(part.text);
  }
  const whole = typed.join("\n");
  const { words, quotes } = splitQuotes(whole);
  const data = quotes === "" ? attached : [...attached, { source: QUOTE_SOURCE, text: quotes }];
  return { typed: whole, words: quotes === "" ? whole : words.trim(), attached, data };
}

const BREAKS = /\r\n|[\n\r\v\f\x85\u2028\u2029]/;

/** Data as a summary shows it: its source, then each of its lines after a mark, so that none can be a heading. */
export function attributed(source: string, text: string): string {
  const lines = text.split(BREAKS).map((line) => (line === "" ? ">" : `> ${line}`));
  return `From ${source}:\n${lines.join("\n")}`;
}

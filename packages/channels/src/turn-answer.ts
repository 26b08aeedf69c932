/** What a person gets as the answer to a piece of work: read from the session and the event log, so that a crash changes nothing. */
import type { SessionStore } from "@pagurus/contract/session/store";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import { eventsUpToNow, type EventLog } from "@pagurus/inbox/event-log";
import { entriesFromEnd } from "@pagurus/inbox/recorded-work";
import type { Work } from "@pagurus/inbox/work";

/** The text of the turn's answers, oldest first. Throws `store_read_failed`. */
async function turnTexts(store: SessionStore, { id, sessionKey }: Work): Promise<string[]> {
  const texts: string[] = [];
  let isFound = false;
  for await (const entry of entriesFromEnd(store, sessionKey)) {
    if (isFound && entry.turnId !== undefined && entry.turnId !== id) break;
    if (entry.turnId !== id) continue;
    isFound = true;
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    const parts = entry.message.content.map((part) => (part.type === "text" ? part.text : ""));
    texts.unshift(parts.join("").trim());
  }
  return texts.filter((text) => text !== "");
}

function compactionText({ compacted, tokensBefore, tokensAfter, reason }: CompactionReport): string {
  if (!compacted) return `Nothing was compacted${reason === undefined ? "" : `: ${reason}`}.`;
  if (tokensBefore === undefined || tokensAfter === undefined) return "The conversation was compacted.";
  return `The conversation was compacted from ${tokensBefore} to ${tokensAfter} tokens.`;
}

/** The answer to work that has ended; empty where there is nothing to say. Throws `store_read_failed`. */
export async function answerOf(store: SessionStore, events: EventLog, work: Work): Promise<string> {
  const said: string[] = [];
  if (work.kind === "turn") said.push(...(await turnTexts(store, work)));
  else
    for await (const { type, data } of eventsUpToNow(events, { workId: work.id })) {
      if (type === "compaction.report") said.push(compactionText(data as CompactionReport));
      if (type === "command.output") said.push((data as { text: string }).text);
    }
  if (work.error) said.push(`That failed: ${work.error.message}`);
  else if (work.outcome === "aborted") said.push("Stopped.");
  else if (work.outcome === "interrupted") said.push("That was interrupted; ask again.");
  return said.join("\n\n");
}

/** Best first: what ends a part, searched from its longest end back. */
const ENDS: readonly RegExp[] = [/\n\s*\n/g, /\n/g, /[.!?…。！？]["')\]]*\s/g, /\s/g];

/** Where the first part ends, at most `max`. */
function endOf(text: string, max: number): number {
  const head = text.slice(0, max + 1);
  for (const end of ENDS) {
    const last = [...head.matchAll(end)].at(-1);
    const at = last === undefined ? 0 : last.index + last[0].length;
    // A part of a few words and a long rest reads worse than a cut in a sentence.
    if (at > max / 4) return Math.min(at, max);
  }
  const code = text.charCodeAt(max - 1);
  return code >= 0xd800 && code < 0xdc00 ? max - 1 : max;
}

/** The first line of fenced code and its last one take at most this part of a message, as a divisor. */
const MOST_FENCE = 8;
/** A line that begins or ends fenced code. */
const FENCE_LINES = /^ {0,3}(`{3,}|~{3,})([^\n`]*)$/gm;

/** Fenced code that is open at the end of a text: its first line, and the marks that close it. */
interface OpenCode {
  line: string;
  marks: string;
}

function openCode(text: string): OpenCode | undefined {
  let open: OpenCode | undefined;
  for (const [line, marks = "", rest = ""] of text.matchAll(FENCE_LINES)) {
    if (!open) open = { line, marks };
    else if (marks.startsWith(open.marks) && rest.trim() === "") open = undefined;
  }
  return open;
}

/** The first part of a text, and what comes after it. */
interface Cut {
  part: string;
  rest: string;
}

function cutAt(text: string, at: number): Cut {
  return { part: text.slice(0, at).trimEnd(), rest: text.slice(at).trimStart() };
}

/**
 * Cuts a text whose first part, up to `end`, would end inside of fenced code: the part closes the code, and the rest begins with it again. Undefined
 * outside of code.
 */
function cutCode(text: string, max: number, end: number): Cut | undefined {
  const cut = openCode(text.slice(0, end));
  // Code whose first line takes much of a part is cut as any text.
  if (!cut || (cut.line.length + cut.marks.length) * MOST_FENCE > max) return undefined;
  const at = endOf(text, max - cut.marks.length - 1);
  const head = text.slice(0, at).trimEnd();
  const code = openCode(head);
  // Longer marks than were allowed for would not fit.
  if (!code || code.marks.length > cut.marks.length) return cutAt(text, at);
  // Without a line of the code the whole of it goes to the next part.
  const before = head.endsWith(code.line) ? head.slice(0, -code.line.length).trimEnd() : "";
  if (before !== "" && !openCode(before)) return cutAt(text, before.length);
  return { part: `${head}\n${code.marks}`, rest: `${code.line}\n${text.slice(at).replace(/^\n+/, "")}` };
}

/**
 * Splits a long answer where a reader would: between paragraphs, else lines, sentences, words; never in a character. Fenced code that is cut is
 * closed at the end of its part and begins again in the next one. Parts of at most `max` characters (2 or more), without white space around
 * them; none for a text of white space.
 */
export function splitText(text: string, max: number): string[] {
  const parts: string[] = [];
  let rest = text.trim();
  while (rest.length > max) {
    const end = endOf(rest, max);
    const cut = cutCode(rest, max, end) ?? cutAt(rest, end);
    parts.push(cut.part);
    rest = cut.rest;
  }
  return rest === "" ? parts : [...parts, rest];
}

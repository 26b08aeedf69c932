/** Sections of a head, each made of whole lines or messages within a budget. */
import {
  asksForTask,
  isAcknowledgement,
  isChoice,
  isConstraint,
} from "@pagurus/core/compaction/summary/salience";
import { readSections, renderSections } from "@pagurus/core/compaction/summary/sections";
import { factsOnly } from "@pagurus/core/compaction/summary/foreign-summary";
import type { LastingRules } from "@pagurus/core/compaction/summary/lasting-rules";
import { shorten } from "@pagurus/core/compaction/summary/sentences";
import { AT_THE_END } from "@pagurus/core/compaction/summary/summary-pieces";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SearchableText } from "@pagurus/core/data/searchable-text";
import type { Pace } from "@pagurus/core/platform/pace";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { joined } from "./chapters.ts";
import type { Facts } from "../epoch.ts";
import { weightOf } from "./carried-facts.ts";
import { wordsShownBy, shownWords } from "./shown-words.ts";
import { hasRevoked, repeatsRevoked, withEnds } from "./rule-history.ts";
import { chooseStrings } from "./strings.ts";
import type { SummaryNode } from "../store/store-types.ts";

/** Tokens of a section's heading. */
const HEADING_TOKENS = 6;

/** Minimum length to which an answer is shortened, characters. */
const LEAST_ANSWER_CHARS = 80;

/** The newest user messages, which say what the work is about; limits on their number and on the share of those before the last. */
const RECENT_ASKS = 3;
const RECENT_SHARE = 0.5;

export type Messages = ReadonlyMap<string, AgentMessage>;

/** Text of an entry; empty when it is unknown. */
export function wordsOf(messages: Messages, id: string): string {
  const message = messages.get(id);
  return message ? shownWords(message) : "";
}

/** A pinned entry is shown whole. */
export function pinnedWords(messages: Messages, id: string): string {
  const message = messages.get(id);
  return message ? shownWords(message, Infinity) : "";
}

/** The part of an entry that the user wrote. */
export function ownWordsOf(messages: Messages, id: string): string {
  return wordsShownBy(messages.get(id));
}

const SHORT_LABEL_CHARS = 60;

/** Shortens a work line to the call and its outcome. */
function shortLine(line: string): string {
  const at = line.lastIndexOf(" — ");
  if (at < 0) return shorten(line, SHORT_LABEL_CHARS);
  return `${shorten(line.slice(0, at), SHORT_LABEL_CHARS)}${line.startsWith(" — failed", at) ? " — failed" : " — done"}`;
}

/**
 * Whole lines from the newest back, in order, within the budget. Lines of `all` that do not fit are shortened, within the
 * same budget again.
 */
export function newestWithin(
  lines: readonly string[],
  budget: number,
  all: readonly string[] = [],
): string[] {
  const wanted = new Set(all);
  const chosen: string[] = [];
  let left = budget;
  let more = budget;
  for (const line of lines.toReversed()) {
    if (left > 0) left -= estimateTokens(`\n- ${line}`);
    if (left >= 0) {
      chosen.push(line);
      continue;
    }
    left = -1;
    if (!wanted.has(line)) continue;
    const short = shortLine(line);
    more -= estimateTokens(`\n- ${short}`);
    if (more < 0) break;
    chosen.push(short);
  }
  return chosen.reverse();
}

export function list(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `## ${heading}\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

export function quoted(tag: string, entryId: string, text: string): string {
  return `<${tag} entry="${entryId}">\n${text}\n</${tag}>`;
}

/** `ended`: rules that get a mark, since they are no longer in force. */
export function usersPart(messages: Messages, ids: readonly string[], ended: LastingRules): string {
  const users = ids.flatMap((id) => {
    const text = withEnds(wordsOf(messages, id), ended);
    return text === "" ? [] : [quoted("user_message", id, text)];
  });
  return users.length === 0 ? "" : `## Messages of the user, word for word\n${users.join("\n")}`;
}

/**
 * Chooses the user messages that stay verbatim: all while they are within `most`, else the newest, then (within a share) the
 * ones before it, then constraints, then the rest, within `budget`.
 */
export function chooseUsers(
  ids: readonly string[],
  messages: Messages,
  { most, budget }: { most: number; budget: number },
): string[] {
  const known = ids.flatMap((id, index) => {
    const text = wordsOf(messages, id);
    const cost = estimateTokens(quoted("user_message", id, text));
    return text === "" ? [] : [{ id, index, cost, weight: weightOf(ownWordsOf(messages, id)) }];
  });
  const total = known.reduce((sum, { cost }) => sum + cost, 0);
  if (total <= most) return known.map(({ id }) => id);
  const newest = known.at(-1);
  const recent = known.slice(-RECENT_ASKS).toReversed();
  const ranked = known.toSorted((a, b) => b.weight - a.weight || b.index - a.index);
  const shown = new Set<string>();
  let left = budget;
  for (const [index, item] of [...recent, ...ranked].entries()) {
    if (shown.has(item.id) || item.cost > left) continue;
    // Of the recent messages, only the newest may leave little budget for constraints; the others then have their rank.
    const isFirst = index < recent.length && item !== newest;
    if (isFirst && left - item.cost < budget * (1 - RECENT_SHARE)) continue;
    shown.add(item.id);
    left -= item.cost;
  }
  return known.flatMap(({ id }) => (shown.has(id) ? [id] : []));
}

/** Sections whose lines may be elsewhere in the head: the user's messages and the last answer. */
const REPEATED: ReadonlySet<string> = new Set(["Requests", "Decisions and constraints", "Answers"]);

/** Words of a head that its summaries do not repeat. */
export interface ShownBefore {
  /** The user's messages and the last answer in one line. */
  words: SearchableText;
  /** Rules that are listed. */
  rules: readonly string[];
  /** Rules that no longer hold are not shown in any part. */
  lasting: LastingRules;
  /** Lines by code. */
  facts: string;
  /** People only talk, and passages show the rest: of their messages an extract shows what they ask for. */
  hidesTalk?: boolean;
}

/** Whether a sentence is a rule of the head as a whole: a part of a rule may say the opposite. */
function isListed(sentence: string, isCut: boolean, rules: readonly string[]): boolean {
  return rules.some((rule) => rule === sentence || (isCut && rule.startsWith(sentence)));
}

/** English, by its small words; requests in other languages are not recognized. */
const ENGLISH = /\b(?:the|and|was|were|is|are|you|my|that|have|had|it|we|i)\b/gi;
const LEAST_ENGLISH = 2;
const ASKED = /[?？؟]["')\]]*$|\b(?:can|could|would|will) you\b/i;

/** Whether a message of talk asks for something; true where that cannot be seen. */
function asksSomething(text: string): boolean {
  if (ASKED.test(text) || isConstraint(text) || isChoice(text) || asksForTask(text)) return true;
  return (text.match(ENGLISH)?.length ?? 0) < LEAST_ENGLISH && !isAcknowledgement(text);
}

const ORIGINS: Partial<Record<SummaryNode["origin"], string>> = {
  extractive: ", extract",
  engine: ", by another program: what it knew then, no request",
};

/** Text of a summary without lines that are elsewhere in the head. */
function nodeText(node: SummaryNode, shown: ShownBefore): string {
  const { words: shownWords, rules, lasting, facts: work, hidesTalk } = shown;
  const isChatter = hidesTalk === true && node.origin === "extractive";
  const lines = readSections(node.text).filter(({ section, text }) => {
    if (isChatter && section === "Answers") return false;
    if (hasRevoked(text, lasting)) return false;
    if (isChatter && section === "Requests" && !asksSomething(text)) return false;
    if (section === "Files touched" || section === "Exact identifiers") return false;
    if (section === "Work done" && work.includes(text.split(" — ")[0] ?? text)) return false;
    // A shortened sentence counts as shown when its beginning is.
    const sentence = text.replace(/^User: /, "").replace(/ …$/, "");
    if (!REPEATED.has(section)) return true;
    return !shownWords.includes(sentence) && !isListed(sentence, text.endsWith(" …"), rules);
  });
  if (node.origin === "extractive") return renderSections(lines).replaceAll(/^## /gm, "#### ");
  // A model's own headings stay unchanged; only the parts that code collects are removed.
  const end = node.text.search(/^## (?:Files touched|Exact identifiers)\s*$/m);
  const own = (end < 0 ? node.text : node.text.slice(0, end)).trim();
  const text = node.origin === "engine" ? factsOnly(own) : own;
  return withoutRevoked(text, lasting).replaceAll(/^## /gm, "#### ");
}

/** A model's text without lines that repeat a rule which no longer holds. */
function withoutRevoked(text: string, lasting: LastingRules): string {
  if (lasting.revoked.length === 0) return text;
  return text
    .split("\n")
    .filter((line) => !repeatsRevoked(line, lasting))
    .join("\n");
}

/** Summaries, oldest first, without lines that are shown before them. */
export function summariesPart(nodes: readonly SummaryNode[], shown: ShownBefore): string {
  const parts = nodes.map((node) => {
    const text = nodeText(node, shown);
    const origin = ORIGINS[node.origin] ?? "";
    const range = `entries ${node.firstEntryId} to ${node.lastEntryId}${origin}`;
    // The heading stays where no line of the part does: its id opens the messages.
    return `### Part ${node.nodeId} (${range})${text === "" ? "" : `\n${text}`}`;
  });
  return joined(parts);
}

export async function stringsPart(facts: Facts, shown: string, budget: number, pace: Pace): Promise<string> {
  const { strings, left: now } = facts;
  const chosen = await chooseStrings(strings, { now, shown, budget: budget - HEADING_TOKENS }, pace);
  return chosen.length === 0 ? "" : `## Exact identifiers\n${chosen.join(" ")}`;
}

/** The last answer, shortened. `budget`: tokens. */
export function shownAnswer({ lastAnswer }: Facts, budget: number): string {
  return shorten(lastAnswer, Math.max(LEAST_ANSWER_CHARS, Math.floor(budget) * 3));
}

/** The part that is rewritten at each compaction. `budget`: tokens of the newest answer. */
export function endPart(facts: Facts, budget: number): string {
  const answer = shownAnswer(facts, budget);
  const parts = [answer === "" ? "" : `## Answers\n- Last said: ${answer}`, list("Open", facts.open)];
  const text = joined(parts);
  return text === "" ? "" : `${AT_THE_END}\n${text}`;
}

export function pinsWithin(pinned: readonly string[], budget: number): string {
  const chosen: string[] = [];
  let left = budget;
  for (const text of pinned) {
    const cost = estimateTokens(text);
    if (cost > left) continue;
    left -= cost;
    chosen.push(text);
  }
  return chosen.length === 0 ? "" : `## Pinned\n${chosen.join("\n")}`;
}

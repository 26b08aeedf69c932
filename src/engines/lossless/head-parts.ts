/** Sections of a head: each of whole lines or messages, within a budget. */
import { readSections, renderSections } from "../../compaction/sections.ts";
import { shorten } from "../../compaction/sentences.ts";
import { AT_THE_END } from "../../compaction/summary-pieces.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { Pace } from "../../platform/pace.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import { joined } from "./chapters.ts";
import type { Facts } from "./epoch.ts";
import { weightOf } from "./facts.ts";
import { shownWords } from "./images.ts";
import { chooseStrings } from "./strings.ts";
import type { SummaryNode } from "./store/types.ts";

/** Tokens of a section's heading. */
const HEADING_TOKENS = 6;

/** The shortest that a longer answer is made, characters. */
const LEAST_ANSWER_CHARS = 80;

/** Newest messages of the user that say what the work is about, and how much of their room those before the last take. */
const RECENT_ASKS = 3;
const RECENT_SHARE = 0.5;

export type Messages = ReadonlyMap<string, AgentMessage>;

/** Words of an entry; empty where it is not known. */
export function wordsOf(messages: Messages, id: string): string {
  const message = messages.get(id);
  return message ? shownWords(message) : "";
}

const SHORT_LABEL_CHARS = 60;

/** A line of work with as much as says what was done and how it ended. */
function shortLine(line: string): string {
  const at = line.lastIndexOf(" — ");
  if (at < 0) return shorten(line, SHORT_LABEL_CHARS);
  return `${shorten(line.slice(0, at), SHORT_LABEL_CHARS)}${line.startsWith(" — failed", at) ? " — failed" : " — done"}`;
}

/**
 * Whole lines from the newest back, in their order. Those of `all` for which there is no room are told in short, in as
 * much room again.
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

export function usersPart(messages: Messages, ids: readonly string[]): string {
  const users = ids.flatMap((id) => {
    const text = wordsOf(messages, id);
    return text === "" ? [] : [quoted("user_message", id, text)];
  });
  return users.length === 0 ? "" : `## Messages of the user, word for word\n${users.join("\n")}`;
}

/**
 * Which user messages stay word for word: all while they are within `most`, else the newest, then (within a share) the
 * ones before it, then constraints, then the rest, within `budget`.
 */
export function chooseUsers(
  ids: readonly string[],
  messages: Messages,
  { most, budget }: { most: number; budget: number },
): { shown: string[]; gone: string[] } {
  const known = ids.flatMap((id, index) => {
    const text = wordsOf(messages, id);
    return text === ""
      ? []
      : [{ id, index, cost: estimateTokens(quoted("user_message", id, text)), weight: weightOf(text) }];
  });
  const total = known.reduce((sum, { cost }) => sum + cost, 0);
  if (total <= most) return { shown: known.map(({ id }) => id), gone: [] };
  const newest = known.at(-1);
  const recent = known.slice(-RECENT_ASKS).toReversed();
  const ranked = known.toSorted((a, b) => b.weight - a.weight || b.index - a.index);
  const shown = new Set<string>();
  let left = budget;
  for (const item of [...recent, ...ranked]) {
    if (shown.has(item.id) || item.cost > left) continue;
    // Of the recent ones only the newest may leave little for what binds.
    if (item !== newest && recent.includes(item) && left - item.cost < budget * (1 - RECENT_SHARE)) continue;
    shown.add(item.id);
    left -= item.cost;
  }
  return {
    shown: known.flatMap(({ id }) => (shown.has(id) ? [id] : [])),
    gone: known.flatMap(({ id }) => (shown.has(id) ? [] : [id])),
  };
}

/** A summary without what the head says elsewhere. */
function nodeText(node: SummaryNode, shownWords: string, work: string): string {
  const lines = readSections(node.text).filter(({ section, text }) => {
    if (section === "Files touched" || section === "Exact identifiers") return false;
    if (section === "Work done" && work.includes(text.split(" — ")[0] ?? text)) return false;
    const said = text.startsWith("User: ") ? text.slice(6) : text;
    return section !== "Requests" || !shownWords.includes(said);
  });
  if (node.origin === "extractive") return renderSections(lines).replaceAll(/^## /gm, "#### ");
  // A model's own headings stay as it wrote them; only the parts that code collects are cut off.
  const end = node.text.search(/^## (?:Files touched|Exact identifiers)\s*$/m);
  return (end < 0 ? node.text : node.text.slice(0, end)).trim().replaceAll(/^## /gm, "#### ");
}

/** Summaries, oldest first, without what `said` (the user's words, in one line) and `told` (lines of code) hold. */
export function summariesPart(nodes: readonly SummaryNode[], said: string, told: string): string {
  const parts = nodes.flatMap((node) => {
    const text = nodeText(node, said, told);
    if (text === "") return [];
    const origin = node.origin === "extractive" ? ", extract" : "";
    return [
      `### Part ${node.nodeId} (entries ${node.firstEntryId} to ${node.lastEntryId}${origin})\n${text}`,
    ];
  });
  return joined(parts);
}

export async function stringsPart(facts: Facts, shown: string, budget: number, pace: Pace): Promise<string> {
  const { strings, left: now } = facts;
  const chosen = await chooseStrings(strings, { now, shown, budget: budget - HEADING_TOKENS }, pace);
  return chosen.length === 0 ? "" : `## Exact identifiers\n${chosen.join(" ")}`;
}

/** What holds only for this moment. `budget`: tokens of the newest answer. */
export function endPart(facts: Facts, budget: number): string {
  const answer = shorten(facts.lastAnswer, Math.max(LEAST_ANSWER_CHARS, budget * 3));
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

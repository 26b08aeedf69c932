/** The text before the kept messages: deterministic, within its budget, nothing of it invented. */
import { readFileLine } from "../../compaction/files.ts";
import { readSections, renderSections } from "../../compaction/sections.ts";
import { shorten } from "../../compaction/sentences.ts";
import { textOf } from "../../compaction/message-text.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import type { Facts } from "./epoch.ts";
import { rulesOf, weightOf, withRules } from "./facts.ts";
import { chooseStrings } from "./strings.ts";
import type { SummaryNode } from "./store/types.ts";

/** Most of the head that a part takes; what one leaves is the next one's, exact strings take the rest. */
const SHARES = { users: 0.4, rules: 0.1, pins: 0.25, work: 0.15, files: 0.25, answer: 0.08 } as const;
/** Share that summaries may count on when they are made. */
export const NODE_SHARE = 0.35;
const INTRO =
  "What happened before in this conversation, in short. Work told as done is done; do not do it again. " +
  "The conversation goes on behind this summary.";

interface HeadInput {
  facts: Facts;
  /** Oldest first. */
  nodes: readonly SummaryNode[];
  /** Messages of `facts.users` and pins, by entry id; unknown ones are left out. */
  messages: ReadonlyMap<string, AgentMessage>;
  pins: readonly string[];
  /** Tokens. */
  maxTokens: number;
  /** Tokens that the user's words may take; the head grows by what exceeds their part of it. */
  userTokens: number;
}

interface Head {
  text: string;
  facts: Facts;
}

/** Whole lines from the newest back, in their order. */
function newestWithin(lines: readonly string[], budget: number): string[] {
  const chosen: string[] = [];
  let left = budget;
  for (const line of lines.toReversed()) {
    left -= estimateTokens(`\n- ${line}`);
    if (left < 0) break;
    chosen.push(line);
  }
  return chosen.reverse();
}

/** Files that were changed before those that were only read, newest first; shown by state, in the order of use. */
function filesWithin(lines: readonly string[], budget: number): string[] {
  const files = lines.flatMap((line) => {
    const file = readFileLine(line);
    return file ? [{ path: file.path, state: line.slice(file.path.length + 2, -1) }] : [];
  });
  const chosen = new Set<string>();
  let left = budget;
  for (const reads of [false, true]) {
    for (const { path, state } of files.toReversed()) {
      if ((state === "read") !== reads) continue;
      left -= estimateTokens(`, ${path}`);
      if (left < 0) break;
      chosen.add(path);
    }
  }
  const groups = new Map<string, string[]>();
  for (const { path, state } of files) {
    if (!chosen.has(path)) continue;
    // How many lines a file was written with is told by the call itself; here it would part all of them.
    const group = state.replace(/, \d+ lines?/, "");
    groups.set(group, [...(groups.get(group) ?? []), path]);
  }
  return [...groups].map(([state, paths]) => `${state}: ${paths.join(", ")}`);
}

function list(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `## ${heading}\n${lines.map((line) => `- ${line}`).join("\n")}`;
}

function quoted(tag: string, entryId: string, text: string): string {
  return `<${tag} entry="${entryId}">\n${text}\n</${tag}>`;
}

/** Which user messages stay word for word: all that fit, else the newest, then constraints, then the rest. */
function chooseUsers(input: HeadInput, budget: number): { shown: string[]; gone: string[] } {
  const { facts, messages } = input;
  const known = facts.users.flatMap((id, index) => {
    const message = messages.get(id);
    const text = message ? textOf(message) : "";
    return text === ""
      ? []
      : [{ id, index, cost: estimateTokens(quoted("user_message", id, text)), weight: weightOf(text) }];
  });
  const total = known.reduce((sum, { cost }) => sum + cost, 0);
  if (total <= budget) return { shown: known.map(({ id }) => id), gone: [] };
  const newest = known.at(-1);
  const ranked = known.toSorted((a, b) => b.weight - a.weight || b.index - a.index);
  const shown = new Set<string>();
  let left = budget;
  for (const item of newest ? [newest, ...ranked] : ranked) {
    if (shown.has(item.id) || item.cost > left) continue;
    shown.add(item.id);
    left -= item.cost;
  }
  const ids = known.map(({ id }) => id);
  return { shown: ids.filter((id) => shown.has(id)), gone: ids.filter((id) => !shown.has(id)) };
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

function nodesPart(nodes: readonly SummaryNode[], shownWords: string, work: string): string {
  const parts = nodes.flatMap((node) => {
    const text = nodeText(node, shownWords, work);
    if (text === "") return [];
    const origin = node.origin === "extractive" ? ", extract" : "";
    return [
      `### Part ${node.nodeId} (entries ${node.firstEntryId} to ${node.lastEntryId}${origin})\n${text}`,
    ];
  });
  return parts.length === 0 ? "" : `## Earlier\n${parts.join("\n\n")}`;
}

function stringsPart(facts: Facts, shown: string, budget: number): string {
  const chosen = chooseStrings(facts.strings, facts.left, shown, budget - 6);
  return chosen.length === 0 ? "" : `## Exact identifiers\n${chosen.join(", ")}`;
}

interface Budget {
  left: number;
  take(share: number): number;
  spend(text: string): string;
}

function budgetOf(maxTokens: number): Budget {
  const budget: Budget = {
    left: maxTokens,
    take: (share) => Math.max(0, Math.min(Math.floor(maxTokens * share), budget.left)),
    spend(text) {
      if (text !== "") budget.left -= estimateTokens(text) + 1;
      return text;
    },
  };
  return budget;
}

/**
 * Renders the head. User messages that have to go leave their binding sentences. Summaries are always there: they
 * were made to fit, and when they do not, everything else gives way.
 */
export function renderHead(input: HeadInput): Head {
  const { facts, nodes, messages, pins, maxTokens } = input;
  const budget = budgetOf(maxTokens);
  const intro = budget.spend(INTRO);
  const textFor = (id: string): string => {
    const message = messages.get(id);
    return message ? textOf(message) : "";
  };
  const reserved = Math.min(
    nodes.reduce((sum, node) => sum + node.tokens, 0),
    maxTokens * NODE_SHARE,
  );
  budget.left -= reserved;
  const usersShare = budget.take(SHARES.users);
  const { shown, gone } = chooseUsers(input, Math.max(usersShare, input.userTokens));
  const rules = withRules(
    facts.rules,
    gone.flatMap((id) => rulesOf(textFor(id))),
  );
  const users = shown.map((id) => quoted("user_message", id, textFor(id)));
  const usersPart = users.length === 0 ? "" : `## Messages of the user, word for word\n${users.join("\n")}`;
  budget.left += Math.max(0, estimateTokens(usersPart) - usersShare);
  budget.spend(usersPart);
  const keptRules = newestWithin(rules, budget.take(SHARES.rules));
  const rulesPart = budget.spend(list("Decisions and constraints", keptRules));
  const pinned = pins.flatMap((id) =>
    messages.has(id) && !shown.includes(id) ? [quoted("pinned", id, textFor(id))] : [],
  );
  const pinsPart = budget.spend(pinsWithin(pinned, budget.take(SHARES.pins)));
  const openPart = budget.spend(list("Open", facts.open));
  const filesPart = budget.spend(
    list("Files touched", filesWithin(facts.files, budget.take(SHARES.files) - 20)),
  );
  const workPart = budget.spend(list("Work done", newestWithin(facts.work, budget.take(SHARES.work))));
  const answer = shorten(facts.lastAnswer, Math.max(80, budget.take(SHARES.answer) * 3));
  const answerPart = budget.spend(facts.lastAnswer === "" ? "" : `## Answers\n- Last said: ${answer}`);
  const words = shown.map(textFor).join("\n");
  budget.left += reserved;
  const earlier = budget.spend(nodesPart(nodes, words.replaceAll(/\s+/g, " "), `${workPart}\n${filesPart}`));
  const before = [intro, usersPart, rulesPart, earlier, workPart, answerPart, openPart, filesPart, pinsPart];
  const text = before.filter((part) => part !== "").join("\n\n");
  const strings = stringsPart(facts, text, budget.left);
  return {
    text: strings === "" ? text : `${text}\n\n${strings}`,
    facts: { ...facts, users: shown, rules, earlierUsers: facts.earlierUsers + gone.length },
  };
}

function pinsWithin(pinned: readonly string[], budget: number): string {
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

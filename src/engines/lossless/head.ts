/**
 * The text before the kept messages: deterministic, within its budget, nothing of it invented. Rendered anew it leaves
 * room; each later compaction then adds a chapter, until there is none: what a provider has cached stays as it is.
 */
import { SINCE_THEN } from "../../compaction/summary-pieces.ts";
import type { Pace } from "../../platform/pace.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import { joined, textOfChapters, type ChapterText } from "./chapters.ts";
import type { Facts } from "./epoch.ts";
import { rulesOf, withRules, type News } from "./facts.ts";
import { listFiles } from "./file-list.ts";
import {
  chooseUsers,
  endPart,
  list,
  newestWithin,
  pinsWithin,
  quoted,
  stringsPart,
  summariesPart,
  usersPart,
  wordsOf,
  type Messages,
} from "./head-parts.ts";
import { PIN_SHARE } from "./settings.ts";
import type { SummaryNode } from "./store/types.ts";

/** Most of the head that a part takes; what one leaves is the next one's, exact strings take the rest. */
const SHARES = { users: 0.4, rules: 0.1, work: 0.15, files: 0.3, answer: 0.08 } as const;
/** Share that summaries may count on when they are made. */
export const NODE_SHARE = 0.35;
/** Measured: a head that is rendered anew fills so much of its room; chapters take the rest. */
export const FILL = 0.65;
/** Measured: of what leaves, so much may become exact strings of its chapter. */
const STRING_SHARE = 0.04;
const INTRO =
  "What happened before in this conversation, in short; the words themselves are kept. Work told as done is done; do " +
  "not do it again. If something you need is missing, find the original words before you guess or ask again: with " +
  "context_search, context_describe and context_expand, where you have these tools (they take the ids of entries and " +
  "parts). The conversation goes on behind this summary.";

/** Whether a head says itself how the words behind it are found: one that another engine wrote does not. */
export function namesRecall(head: string): boolean {
  return head.startsWith(INTRO);
}

interface HeadInput {
  facts: Facts;
  /** Oldest first. */
  nodes: readonly SummaryNode[];
  /** Messages of `facts.users` and pins, by entry id; unknown ones are left out. */
  messages: Messages;
  pins: readonly string[];
  /** Tokens. */
  maxTokens: number;
  /** Tokens that the user's words may take; the head grows by what exceeds their part of it. */
  userTokens: number;
}

export interface Head {
  text: string;
  facts: Facts;
  chapters: ChapterText[];
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

/** The user's words in one line, by which summaries are kept from saying them again. */
function saidBy(messages: Messages, ids: readonly string[]): string {
  return ids
    .map((id) => wordsOf(messages, id))
    .join("\n")
    .replaceAll(/\s+/g, " ");
}

function firstSummaries(text: string): string {
  return text === "" ? "" : `## Earlier\n${text}`;
}

/**
 * Renders the head anew, in `fill` of its room. User messages that have to go leave their binding sentences. Summaries
 * are always there: they were made to fit, and when they do not, everything else gives way.
 */
export async function renderHead(input: HeadInput, fill: number, pace: Pace): Promise<Head> {
  const { facts, nodes, messages, pins } = input;
  const maxTokens = Math.floor(input.maxTokens * fill);
  const budget = budgetOf(maxTokens);
  const intro = budget.spend(INTRO);
  const reserved = Math.min(
    nodes.reduce((sum, node) => sum + node.tokens, 0),
    maxTokens * NODE_SHARE,
  );
  budget.left -= reserved;
  const usersShare = budget.take(SHARES.users);
  const { shown, gone } = chooseUsers(facts.users, messages, {
    most: Math.max(input.maxTokens * SHARES.users, input.userTokens),
    budget: Math.max(usersShare, input.userTokens * fill),
  });
  if (pace.due) await pace.rest();
  const rules = withRules(
    facts.rules,
    gone.flatMap((id) => rulesOf(wordsOf(messages, id))),
  );
  const users = usersPart(messages, shown);
  budget.left += Math.max(0, estimateTokens(users) - usersShare);
  budget.spend(users);
  const rulesPart = budget.spend(
    list("Decisions and constraints", newestWithin(rules, budget.take(SHARES.rules))),
  );
  const pinned = pins.flatMap((id) =>
    messages.has(id) && !shown.includes(id) ? [quoted("pinned", id, wordsOf(messages, id))] : [],
  );
  const pinsPart = pinsWithin(pinned, Math.floor(input.maxTokens * PIN_SHARE));
  budget.left += Math.max(0, estimateTokens(pinsPart) - budget.take(PIN_SHARE));
  budget.spend(pinsPart);
  const end = budget.spend(endPart(facts, budget.take(SHARES.answer)));
  const workShare = budget.take(SHARES.work);
  const workPart = budget.spend(list("Work done", newestWithin(facts.work, workShare, facts.effects)));
  // What has to be told of the newest request is nothing that files have to make room for.
  budget.left += Math.max(0, estimateTokens(workPart) - workShare);
  // Each file with its last state: here the room for later chapters counts too.
  const filesMost = Math.min(input.maxTokens * SHARES.files, budget.left + input.maxTokens - maxTokens);
  const filesPart = budget.spend(list("Files touched", listFiles(facts.files, filesMost)));
  budget.left += reserved;
  const summaries = budget.spend(
    firstSummaries(summariesPart(nodes, saidBy(messages, shown), `${workPart}\n${filesPart}`)),
  );
  const said = joined([intro, users, rulesPart, pinsPart]);
  if (pace.due) await pace.rest();
  const done = joined([workPart, filesPart]);
  const strings = await stringsPart(facts, `${said}\n${summaries}\n${done}\n${end}`, budget.left, pace);
  const ids = nodes.map(({ nodeId }) => nodeId);
  const chapters = [{ words: said, summaries, facts: joined([done, strings]), nodes: ids }];
  return {
    text: textOfChapters(chapters, end),
    facts: { ...facts, users: shown, rules, earlierUsers: facts.earlierUsers + gone.length },
    chapters,
  };
}

interface ChapterInput extends Omit<HeadInput, "pins"> {
  /** Of the head that is there. */
  chapters: readonly ChapterText[];
  /** The summaries of each of them, as good as they are by now. */
  present: readonly (readonly SummaryNode[])[];
  /** What is told for the first time. `nodes` are its summaries. */
  news: News;
  /** The file lines that the head was made with. */
  filesBefore: readonly string[];
  /** Tokens of what leaves. */
  leaving: number;
}

/** Chapters with the summaries that have taken the place of theirs; the others keep their bytes. */
function renewed(input: ChapterInput, said: string): ChapterText[] {
  const told = input.chapters.map(({ facts }) => facts).join("\n");
  return input.chapters.map((chapter, index) => {
    const nodes = input.present[index] ?? [];
    const ids = nodes.map(({ nodeId }) => nodeId);
    if (ids.join() === chapter.nodes.join()) return chapter;
    const text = summariesPart(nodes, said, told);
    return { ...chapter, summaries: index === 0 ? firstSummaries(text) : text, nodes: ids };
  });
}

/** The head that is there with one more chapter; undefined where there is no room for it. */
export async function addChapter(input: ChapterInput, pace: Pace): Promise<Head | undefined> {
  const { facts, nodes, messages, maxTokens, userTokens, news, filesBefore, leaving } = input;
  const usersShare = Math.floor(maxTokens * SHARES.users);
  const usersTokens = estimateTokens(usersPart(messages, facts.users));
  if (usersTokens > Math.max(usersShare, userTokens)) return undefined;
  const said = saidBy(messages, facts.users);
  const chapters = renewed(input, said);
  const before = textOfChapters(chapters, "");
  if (pace.due) await pace.rest();
  const known = new Set(filesBefore);
  const isNew = (line: string): boolean =>
    !known.has(line) || !before.includes(line.slice(0, line.lastIndexOf(" (")));
  const budget = budgetOf(maxTokens + Math.max(0, usersTokens - usersShare));
  budget.spend(before);
  const users = budget.spend(usersPart(messages, news.users));
  const workPart = budget.spend(
    list("Work done", newestWithin(news.work, maxTokens * SHARES.work, facts.effects)),
  );
  const filesPart = budget.spend(
    list("Files touched", listFiles(news.files.filter(isNew), maxTokens * SHARES.files)),
  );
  const summaries = budget.spend(summariesPart(nodes, said, `${workPart}\n${filesPart}`));
  const end = budget.spend(endPart(facts, budget.take(SHARES.answer)));
  if (budget.left < 0) return undefined;
  const done = joined([workPart, filesPart]);
  if (pace.due) await pace.rest();
  const shown = [before, users, summaries, done, end].join("\n");
  const room = Math.min(budget.left, Math.floor(leaving * STRING_SHARE));
  const strings = await stringsPart(facts, shown, room, pace);
  const chapter = {
    words: users === "" ? SINCE_THEN : `${SINCE_THEN}\n${users}`,
    summaries,
    facts: joined([done, strings]),
    nodes: nodes.map(({ nodeId }) => nodeId),
  };
  if (users !== "" || summaries !== "" || chapter.facts !== "") chapters.push(chapter);
  return { text: textOfChapters(chapters, end), facts, chapters };
}

/**
 * Renders the head, the text before the kept messages: deterministic, within its budget. A full rendering leaves part of
 * the budget free; later compactions append chapters until it is used up, so that a provider's cache stays valid.
 */
import { isChoice, isDemand } from "@pagurus/core/compaction/summary/salience";
import { sentencesOf } from "@pagurus/core/compaction/summary/sentences";
import { NO_RULES, type LastingRules } from "@pagurus/core/compaction/summary/lasting-rules";
import { SINCE_THEN } from "@pagurus/core/compaction/summary/summary-pieces";
import { SearchableText } from "@pagurus/core/data/searchable-text";
import type { Pace } from "@pagurus/core/platform/pace";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { joined, textOfChapters, type ChapterText } from "./chapters.ts";
import { isTalk, type Facts } from "../epoch.ts";
import { rulesOf, withRules, type News } from "./carried-facts.ts";
import { hasData } from "./shown-words.ts";
import { listFiles } from "./file-list.ts";
import {
  chooseUsers,
  endPart,
  list,
  newestWithin,
  ownWordsOf,
  pinnedWords,
  pinsWithin,
  quoted,
  shownAnswer,
  stringsPart,
  summariesPart,
  usersPart,
  wordsOf,
  type Messages,
  type ShownBefore,
} from "./head-parts.ts";
import { chosenRules, hasRevoked, isTakenBack, misleading } from "./rule-history.ts";
import { stringsOfTalk } from "./strings.ts";
import { troubleLines } from "./trouble.ts";
import { PIN_SHARE } from "../lossless-settings.ts";
import type { SummaryNode } from "../store/store-types.ts";

/** Limits on each part's share of the head; unused tokens pass to the next part, exact strings take the rest. */
const SHARES = { users: 0.4, rules: 0.1, troubles: 0.02, work: 0.15, files: 0.3, answer: 0.08 } as const;
/** Tokens that the rules may take in a small head, and the share of it that they take at most. */
const LEAST_RULES = 250;
const MOST_RULES_SHARE = 0.25;
/** Share of the head that summaries are sized for. */
export const NODE_SHARE = 0.35;
/** Measured: share of its budget that a full rendering fills; chapters take the rest. */
export const FILL = 0.65;
/** Measured: limit on a chapter's exact strings, as a share of the removed tokens. */
const STRING_SHARE = 0.037;
const INTRO =
  "What happened before in this conversation, in short; the words themselves are kept. Work told as done is done; do " +
  "not do it again. If something you need is missing, find the original words before you guess or ask again: with " +
  "context_search, context_describe and context_expand, where you have these tools (they take the ids of entries and " +
  "parts). The conversation goes on behind this summary.";

/** Whether a head names the recall tools itself; another engine's head does not. */
export function namesRecall(head: string): boolean {
  return head.startsWith(INTRO);
}

const LASTING_HEADING = "Lasting rules of the user";

interface HeadInput {
  facts: Facts;
  /** Rules to list; default: those of the facts. */
  lasting?: LastingRules;
  /** Oldest first. */
  nodes: readonly SummaryNode[];
  /** Messages of `facts.users` and pins, by entry id; unknown ones are skipped. */
  messages: Messages;
  pins: readonly string[];
  /** Tokens. */
  maxTokens: number;
  /** Limit on the user's messages, tokens; the head grows by what exceeds their share. */
  userTokens: number;
  /**
   * Of the user's messages, only those with attached data are shown word for word; what the others demand is listed. Answers are left
   * out.
   */
  hidesTalk: boolean;
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

/**
 * The user's messages and the last answer in one line, used to remove duplicates from summaries: also without list
 * marks, as in a summary.
 */
function userTextOf(
  messages: Messages,
  ids: readonly string[],
  facts: Facts,
  maxTokens: number,
): SearchableText {
  const answer = shownAnswer(facts, maxTokens * SHARES.answer);
  const words = [...ids.map((id) => wordsOf(messages, id)), answer.replace(/ …$/, "")];
  const plain = words.map((text) => sentencesOf(text).join(" "));
  return new SearchableText([...words, ...plain].join("\n").replaceAll(/\s+/g, " "));
}

function troublesList(troubles: Facts["troubles"], budget: number): string {
  return list("Errors and what ended them", troubleLines(troubles, budget));
}

function firstSummaries(text: string): string {
  return text === "" ? "" : `## Earlier\n${text}`;
}

/** Messages of the user that are shown word for word. */
function shownUsers(input: HeadInput, lasting: LastingRules, budget: number): string[] {
  const { facts, messages } = input;
  const isWanted = (id: string): boolean =>
    (!input.hidesTalk || hasData(messages.get(id))) &&
    !(isTalk(facts) && isTakenBack(ownWordsOf(messages, id), lasting));
  const most = Math.max(input.maxTokens * SHARES.users, input.userTokens);
  return chooseUsers(facts.users.filter(isWanted), messages, { most, budget });
}

/** A part with these messages; a rule in them that a message out of sight ended would mislead, and is marked. */
function markedUsers(messages: Messages, ids: readonly string[], lasting: LastingRules): string {
  const words = ids.map((id) => ownWordsOf(messages, id)).join("\n");
  return usersPart(messages, ids, misleading(words, lasting));
}

/**
 * Renders the head from scratch, in the share `fill` of its budget. Dropped user messages leave their binding sentences.
 * Summaries are always included: they were made to fit, and when they do not, the other parts shrink.
 */
export async function renderHead(input: HeadInput, fill: number, pace: Pace): Promise<Head> {
  const { facts, nodes, messages, pins } = input;
  const maxTokens = Math.floor(input.maxTokens * fill);
  const budget = budgetOf(maxTokens);
  const intro = budget.spend(INTRO);
  const reserved = nodes.reduce((sum, node) => sum + node.tokens, 0);
  budget.left -= reserved;
  const { lasting = facts.lasting ?? NO_RULES } = input;
  const usersShare = budget.take(SHARES.users);
  const shown = shownUsers(input, lasting, Math.max(usersShare, input.userTokens * fill));
  const isShown = new Set(shown);
  const gone = facts.users.filter((id) => !isShown.has(id) && wordsOf(messages, id) !== "");
  if (pace.due) await pace.rest();
  const rules = withRules(
    facts.rules,
    gone.flatMap((id) => rulesOf(ownWordsOf(messages, id))),
  );
  const users = markedUsers(messages, shown, lasting);
  const inSight = users.replaceAll(/\s+/g, " ");
  const listedLasting = chosenRules(lasting, maxTokens).filter((rule) => !inSight.includes(rule));
  const lastingPart = budget.spend(list(LASTING_HEADING, listedLasting));
  budget.left += Math.max(0, estimateTokens(users) - usersShare);
  budget.spend(users);
  // Always within their share: a budget of nothing would take all of them.
  const small = Math.min(LEAST_RULES, maxTokens * MOST_RULES_SHARE);
  const rulesMost = Math.floor(Math.max(maxTokens * SHARES.rules, small));
  const isListed = (rule: string): boolean =>
    !hasRevoked(rule, lasting) &&
    !listedLasting.includes(rule) &&
    (!isTalk(facts) || isDemand(rule) || isChoice(rule));
  const listed = newestWithin(rules.filter(isListed), rulesMost);
  const rulesPart = budget.spend(list("Decisions and constraints", listed));
  const pinned = pins.flatMap((id) =>
    messages.has(id) && !shown.includes(id) ? [quoted("pinned", id, pinnedWords(messages, id))] : [],
  );
  const pinsPart = pinsWithin(pinned, Math.floor(input.maxTokens * PIN_SHARE));
  budget.left += Math.max(0, estimateTokens(pinsPart) - budget.take(PIN_SHARE));
  budget.spend(pinsPart);
  const ending = input.hidesTalk ? { ...facts, lastAnswer: "" } : facts;
  const end = budget.spend(endPart(ending, budget.take(SHARES.answer)));
  // Errors are so few tokens that the head grows by them.
  const troublesPart = troublesList(facts.troubles, budget.take(SHARES.troubles));
  const workShare = budget.take(SHARES.work);
  const workPart = budget.spend(list("Work done", newestWithin(facts.work, workShare, facts.effects)));
  // Work lines of the newest request that exceed their share do not reduce the files' budget.
  budget.left += Math.max(0, estimateTokens(workPart) - workShare);
  // Each file with its last state; this part may also use the budget reserved for later chapters.
  const filesMost = Math.min(input.maxTokens * SHARES.files, budget.left + input.maxTokens - maxTokens);
  const filesPart = budget.spend(list("Files touched", listFiles(facts.files, filesMost)));
  budget.left += reserved;
  const summaries = budget.spend(
    firstSummaries(
      summariesPart(nodes, {
        words: userTextOf(messages, shown, ending, maxTokens),
        rules: [...listedLasting, ...listed],
        lasting,
        facts: `${workPart}\n${filesPart}`,
        hidesTalk: input.hidesTalk,
      }),
    ),
  );
  const opening = joined([intro, lastingPart, users, rulesPart, pinsPart]);
  if (pace.due) await pace.rest();
  const done = joined([troublesPart, workPart, filesPart]);
  const shownText = `${opening}\n${summaries}\n${done}\n${end}`;
  const known = isTalk(facts) ? { ...facts, strings: stringsOfTalk(facts.strings) } : facts;
  const strings = await stringsPart(known, shownText, budget.left, pace);
  const ids = nodes.map(({ nodeId }) => nodeId);
  const chapters = [{ words: opening, summaries, facts: joined([done, strings]), nodes: ids }];
  return {
    chapters,
    text: textOfChapters(chapters, end),
    // What is not shown here may be in a larger window.
    facts: input.hidesTalk
      ? { ...facts, rules }
      : { ...facts, users: shown, rules, earlierUsers: facts.earlierUsers + gone.length },
  };
}

interface ChapterInput extends Omit<HeadInput, "pins" | "hidesTalk"> {
  /** Chapters of the existing head. */
  chapters: readonly ChapterText[];
  /** The best available summaries of each chapter. */
  present: readonly (readonly SummaryNode[])[];
  /** The new facts. `nodes` are their summaries. */
  news: News;
  /** The file lines of the existing head. */
  filesBefore: readonly string[];
  /** Tokens of the removed messages. */
  leaving: number;
}

/** Chapters with their replaced summaries updated; the others keep their bytes. */
function renewed(input: ChapterInput, shown: Omit<ShownBefore, "facts">): ChapterText[] {
  const factText = input.chapters.map(({ facts }) => facts).join("\n");
  return input.chapters.map((chapter, index) => {
    const nodes = input.present[index] ?? [];
    const ids = nodes.map(({ nodeId }) => nodeId);
    if (ids.join() === chapter.nodes.join()) return chapter;
    const text = summariesPart(nodes, { ...shown, facts: factText });
    return { ...chapter, summaries: index === 0 ? firstSummaries(text) : text, nodes: ids };
  });
}

/** Appends a chapter to the existing head; undefined when it does not fit. */
export async function addChapter(input: ChapterInput, pace: Pace): Promise<Head | undefined> {
  const { facts, nodes, messages, maxTokens, userTokens, news, filesBefore, leaving } = input;
  const { lasting = facts.lasting ?? NO_RULES } = input;
  const usersShare = Math.floor(maxTokens * SHARES.users);
  const usersTokens = estimateTokens(markedUsers(messages, facts.users, lasting));
  if (usersTokens > Math.max(usersShare, userTokens)) return undefined;
  const userText = userTextOf(messages, facts.users, facts, maxTokens);
  const opening = input.chapters.map(({ words }) => words).join("\n");
  const rules = facts.rules.filter((rule) => `${opening}\n`.includes(`\n- ${rule}\n`));
  const shownElsewhere = { words: userText, rules, lasting };
  const chapters = renewed(input, shownElsewhere);
  const before = textOfChapters(chapters, "");
  if (pace.due) await pace.rest();
  const known = new Set(filesBefore);
  const shownBefore = new SearchableText(before);
  const isNew = (line: string): boolean =>
    !known.has(line) || !shownBefore.includes(line.slice(0, line.lastIndexOf(" (")));
  const budget = budgetOf(maxTokens + Math.max(0, usersTokens - usersShare));
  budget.spend(before);
  const users = budget.spend(markedUsers(messages, news.users, lasting));
  const inSight = `${before}\n${users}`.replaceAll(/\s+/g, " ");
  const listedLasting = chosenRules(lasting, maxTokens).filter((rule) => !inSight.includes(rule));
  const lastingPart = budget.spend(list(LASTING_HEADING, listedLasting));
  const troublesPart = troublesList(news.troubles, maxTokens * SHARES.troubles);
  const workPart = budget.spend(
    list("Work done", newestWithin(news.work, maxTokens * SHARES.work, facts.effects)),
  );
  const filesPart = budget.spend(
    list("Files touched", listFiles(news.files.filter(isNew), maxTokens * SHARES.files)),
  );
  const summaries = budget.spend(
    summariesPart(nodes, { ...shownElsewhere, facts: `${workPart}\n${filesPart}` }),
  );
  const end = budget.spend(endPart(facts, budget.take(SHARES.answer)));
  if (budget.left < 0) return undefined;
  const done = joined([troublesPart, workPart, filesPart]);
  const words = joined([lastingPart, users]);
  if (pace.due) await pace.rest();
  const shown = [before, words, summaries, done, end].join("\n");
  const stringTokens = Math.min(budget.left, Math.floor(leaving * STRING_SHARE));
  const strings = await stringsPart(facts, shown, stringTokens, pace);
  const chapter = {
    words: words === "" ? SINCE_THEN : `${SINCE_THEN}\n${words}`,
    summaries,
    facts: joined([done, strings]),
    nodes: nodes.map(({ nodeId }) => nodeId),
  };
  if (words !== "" || summaries !== "" || chapter.facts !== "") chapters.push(chapter);
  return { text: textOfChapters(chapters, end), facts, chapters };
}

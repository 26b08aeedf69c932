/** Lasting rules of a conversation, read from the person's own words in its messages. */
import {
  afterSentences,
  NO_RULES,
  ruleSentences,
  type LastingRules,
  type RuleSentence,
} from "@pagurus/core/compaction/summary/lasting-rules";
import { contentTerms, isAlike } from "@pagurus/core/compaction/summary/rule-topics";
import { sentencesOf } from "@pagurus/core/compaction/summary/sentences";
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Pace } from "@pagurus/core/platform/pace";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { senderOf } from "../store/entries/writers.ts";
import type { LosslessStore } from "../store/lossless-store.ts";

/** Entries that are looked at, and messages that are read, at a time. */
const PAGE = 500;
const READ = 100;
const TAKEN_BACK = " (taken back later)";

interface Spoken {
  sentences: readonly RuleSentence[];
  by: string | undefined;
}

/** Of each message once: the kept ones are looked at for each head and each recall. */
const spoken = new WeakMap<AgentMessage, Spoken>();

/** A person's sentences about rules. Attached data, results and quotes are other people's words. */
function spokenIn(message: AgentMessage): Spoken {
  let known = spoken.get(message);
  if (!known) {
    if (message.role !== "user" || message.fragment) known = { sentences: [], by: undefined };
    else {
      const { words, typed } = inputWords(message);
      known = { sentences: ruleSentences(words), by: senderOf(typed)?.address };
    }
    spoken.set(message, known);
  }
  return known;
}

function afterMessage(before: LastingRules, message: AgentMessage): LastingRules {
  if (message.role !== "user") return before;
  const { sentences, by } = spokenIn(message);
  return afterSentences(before, sentences, by);
}

/** The rules after messages in order. */
export async function afterMessages(
  before: LastingRules,
  messages: readonly AgentMessage[],
  pace: Pace,
): Promise<LastingRules> {
  let lasting = before;
  await pace.each(messages, (message) => {
    lasting = afterMessage(lasting, message);
  });
  return lasting;
}

/** The rules of all that is before an entry of the path. Read once, where no epoch carries them. */
export async function lastingBefore(
  store: LosslessStore,
  sessionId: string,
  entryId: string,
  pace: Pace,
): Promise<LastingRules> {
  const newestFirst: string[] = [];
  const replaced = new Set<string>();
  let before = entryId;
  for (;;) {
    const { items, complete } = store.outlineBack(sessionId, { before, maxMessages: PAGE });
    for (const item of items.toReversed()) {
      if (item.supersedes !== undefined) replaced.add(item.supersedes);
      if (item.role === "user" && !replaced.has(item.entryId)) newestFirst.push(item.entryId);
    }
    const [first] = items;
    if (complete || !first) break;
    before = first.entryId;
    if (pace.due) await pace.rest();
  }
  let lasting = NO_RULES;
  const ids = newestFirst.reverse();
  for (let from = 0; from < ids.length; from += READ) {
    const read = store.getMany(ids.slice(from, from + READ), sessionId);
    lasting = await afterMessages(
      lasting,
      read.flatMap(({ message }) => message ?? []),
      pace,
    );
  }
  return lasting;
}

/** Rules that the kept messages take back are not shown; new ones of theirs are in sight as they are. */
export async function stillLasting(
  before: LastingRules = NO_RULES,
  kept: readonly { message: AgentMessage }[],
  pace: Pace,
): Promise<LastingRules> {
  const messages = kept.map(({ message }) => message);
  const { rules, revoked } = await afterMessages(before, messages, pace);
  const isOld = new Set(before.revoked);
  return {
    rules: rules.filter((rule) => before.rules.includes(rule)),
    revoked: revoked.map((rule) => (isOld.has(rule) ? rule : { ...rule, isKept: true })),
  };
}

/** The rules at the end of a context: of before its first kept entry, and of the kept messages. */
export function lastingNow(
  before: LastingRules = NO_RULES,
  kept: readonly { message: AgentMessage }[],
): LastingRules {
  return kept.reduce((lasting, { message }) => afterMessage(lasting, message), before);
}

/** Share of the head for rules, and the tokens that they may take at least, within a share of a small head. */
const RULES_SHARE = 0.1;
const LEAST_RULE_TOKENS = 200;
const MOST_SHARE = 0.4;

/** As many rules as fit, the surest and newest before the others, in the order in which they were set. */
export function chosenRules({ rules }: LastingRules, maxTokens: number): string[] {
  let left = Math.max(maxTokens * RULES_SHARE, Math.min(LEAST_RULE_TOKENS, maxTokens * MOST_SHARE));
  const chosen = new Set<string>();
  for (const { text } of rules.toReversed().toSorted((a, b) => b.strength - a.strength)) {
    const cost = estimateTokens(`\n- ${text}`);
    if (cost > left) continue;
    left -= cost;
    chosen.add(text);
  }
  return rules.map(({ text }) => text).filter((text) => chosen.has(text));
}

/** Text without the mark of a line that was shortened. */
function wholePart(text: string): string {
  return text.replace(/ …$/, "");
}

/** Of the rules that are no longer in force those that would mislead: `shown` lacks what ended them. */
export function misleading(shown: string, lasting: LastingRules): LastingRules {
  const revoked = lasting.revoked.filter(
    ({ end, isKept }) => isKept !== true && !shown.includes(wholePart(end)),
  );
  return { ...lasting, revoked };
}

/** The text of a rule as a message may have it, over several lines. */
function patternOf(text: string): RegExp {
  return new RegExp(
    wholePart(text)
      .replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
      .replaceAll(" ", String.raw`\s+`),
    "g",
  );
}

/** A text with a mark after each rule that is no longer in force. */
export function withEnds(text: string, { revoked }: LastingRules): string {
  let marked = text;
  for (const rule of revoked) marked = marked.replaceAll(patternOf(rule.text), `$&${TAKEN_BACK}`);
  return marked;
}

/** Whether a message has nothing but rules that are no longer in force. */
export function isTakenBack(words: string, lasting: LastingRules): boolean {
  const sentences = sentencesOf(words);
  return sentences.length > 0 && sentences.every((sentence) => hasRevoked(sentence, lasting));
}

/** Share of the words of a line and of a rule from which the line says the rule in other words. */
const REPEATS = 0.75;

/** The same for a model's words. */
export function repeatsRevoked(line: string, lasting: LastingRules): boolean {
  if (hasRevoked(line, lasting)) return true;
  const terms = contentTerms(line);
  return (
    terms.length > 0 && lasting.revoked.some(({ text }) => isAlike(terms, contentTerms(text)) >= REPEATS)
  );
}

/** Lists of what the user wants, at the beginning of a chapter. */
const RULE_HEADINGS = /^## (?:Lasting rules of the user|Decisions and constraints)\n(?:- .*(?:\n|$))+/gm;

/** A chapter whose lists have no rule that is no longer in force. */
export function withoutEnded<T extends { words: string; summaries: string }>(
  chapter: T,
  lasting: LastingRules,
): T {
  if (!hasRevoked(`${chapter.words}\n${chapter.summaries}`, lasting)) return chapter;
  const lines = (text: string): string[] =>
    text.split("\n").filter((line) => !line.startsWith("- ") || !hasRevoked(line, lasting));
  const words = chapter.words.replaceAll(RULE_HEADINGS, (list) => {
    const kept = lines(list);
    return kept.some((line) => line.startsWith("- ")) ? kept.join("\n") : "";
  });
  return { ...chapter, words: words.trim(), summaries: lines(chapter.summaries).join("\n") };
}

/** Whether a line has a rule that is no longer in force. */
export function hasRevoked(line: string, { revoked }: LastingRules): boolean {
  return revoked.some(({ text }) => line.includes(wholePart(text)));
}

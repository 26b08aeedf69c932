/**
 * Lasting rules: what a person asks of all later answers ("Always name the source when I ask about prices"), in force until the same
 * person takes it back or replaces it. Found sentence by sentence, without a model; other people's words are never passed here.
 */
import { contentTerms, isAlike, isWithin, ruleWeights, shareOf, topicOf } from "./rule-topics.ts";
import {
  ALLOWS,
  BEGINS_WITH_PERIOD,
  BY_ALL,
  ADDRESSED_BY_NAME,
  CONDITION,
  EXPLICIT,
  HABIT,
  LANGUAGES,
  ONCE,
  PREFERENCE,
  FORBIDS,
  FORBIDS_FOREIGN,
  plainWords,
  RELEASES,
  REPLACED_FOREIGN,
  REPLACED_THING,
  REPLACES,
  REPLACES_FOREIGN,
  STOPS,
  STOPS_FOREIGN,
} from "./rule-words.ts";
import {
  ALWAYS_OR_NEVER,
  asksPolitely,
  isHypothesis,
  isQuestion,
  isReport,
  isSharedReport,
  unquoted,
  withEndsOfQuotes,
  withWholeQuotes,
} from "./rule-speech.ts";
import { asksForTask, isConstraint, isDemand } from "./salience.ts";
import { sentencesOf, shorten } from "./sentences.ts";
import { defined } from "../../data/defined.ts";

export interface LastingRule {
  text: string;
  /** The person who set it, where several write. */
  by?: string;
  /** How surely it is a rule: 1 to 3. */
  strength: number;
}

export interface LastingRules {
  /** In force, in the order in which they were set. */
  rules: readonly LastingRule[];
  /** Rules that are no longer in force, the newest last. */
  revoked: readonly RevokedRule[];
}

export interface RevokedRule {
  text: string;
  /** The sentence that ended it. */
  end: string;
  /** That is in a message which is kept as it is. */
  isKept?: true;
}

export const NO_RULES: LastingRules = { rules: [], revoked: [] };

/** Limits on rules that are carried, and on their length in characters. */
const MOST_LASTING_RULES = 60;
const MOST_REVOKED = 60;
const RULE_CHARS = 200;
/** Rules of one message; a longer list is a document that was pasted. */
const MOST_OF_A_MESSAGE = 8;
const MOST_SENTENCES = 200;
/** Longer sentences are text that was pasted. Characters. */
const MOST_RULE_SENTENCE = 600;

/** A question that is an order to end something: `Could you stop adding tables?` */
const POLITE_END =
  /^(?:(?:please|and|so|also|hey|ok|okay),? )*(?:can|could|would|will) you (?:please |kindly )?(?=(?:stop|quit|forget|drop|ignore|disregard|cancel|remove|undo|lift) )(.*)\?$/i;
/** Between a sentence and one in a script without capitals. */
const OTHER_SCRIPT = /(?<=[.!?])\s+(?=[^\0-\u024f])/u;
const MARKUP_LINE = /^\s*(?:#{1,6}\s|\||<\/?\w)/;

const LETS = /^(?:(?:ok|okay|well|so|and|now),? )*let's /i;

/** How surely the words of a sentence, without what it quotes, are a rule; 0 for any other sentence. */
function strengthOf(spoken: string): number {
  if (ONCE.test(spoken) || isHypothesis(spoken) || isSharedReport(spoken)) return 0;
  const isHabit = HABIT.test(spoken);
  if (isQuestion(spoken))
    return (isConstraint(spoken) && isHabit) || (asksPolitely(spoken) && isForeignRule(spoken)) ? 2 : 0;
  const isLasting = EXPLICIT.test(spoken) || CONDITION.test(spoken);
  const isPreferred = PREFERENCE.test(spoken);
  const order = isLasting ? spoken.replace(LETS, "") : spoken;
  // Most sentences have no such words.
  const isAsked = (isLasting || isHabit || isPreferred) && (isDemand(order) || asksForTask(order));
  if ((isAsked && isLasting) || BEGINS_WITH_PERIOD.test(spoken)) return 3;
  if ((isAsked && isHabit) || (isPreferred && (isHabit || isLasting))) return 2;
  if (!isReport(spoken) && isForeignRule(spoken)) return 3;
  return isAsked ? 1 : 0;
}

/** In a polite question and a wish, words of time are enough. */
function isForeignRule(spoken: string): boolean {
  const asks = asksPolitely(spoken);
  if (asks && ALWAYS_OR_NEVER.test(spoken)) return true;
  return LANGUAGES.some(
    (language) => language.rule.test(spoken) && (asks || (language.asks?.test(spoken) ?? true)),
  );
}

/** "Don't forget the rule about travel": it still holds. */
const KEEPS =
  /\b(?:don't|do not|never|why|didn't|did|have) (?:\w+ )?(?:forget|forgot|forgotten|ignore|drop|cancel|remove|skip|disregard)/i;

function stopsForeign(spoken: string): boolean {
  return (
    STOPS_FOREIGN.test(spoken) && !LANGUAGES.some(({ revokes }) => revokes.test(spoken)) && !isReport(spoken)
  );
}

function forbids({ text }: { text: string }): boolean {
  const plain = plainWords(text);
  return FORBIDS.test(plain) || FORBIDS_FOREIGN.test(plain);
}

/** Whether a sentence takes a rule back, whichever that is. */
function revokesIn(spoken: string): boolean {
  const hasWords =
    ADDRESSED_BY_NAME.test(spoken) ||
    ALLOWS.test(spoken) ||
    RELEASES.test(spoken) ||
    STOPS.test(spoken) ||
    stopsForeign(spoken) ||
    LANGUAGES.some(({ revokes }) => revokes.test(spoken));
  if (!hasWords || ONCE.test(spoken) || KEEPS.test(spoken) || isHypothesis(spoken)) return false;
  return !isQuestion(spoken) || asksForTask(spoken);
}

const NAMES_RULE = /\b(?:rule|instruction|preference|request)s?\b/i;

/** Share of a rule's or a revocation's words that both have, from which they are about the same. */
const SAME_TOPIC = 0.5;
/** The same in languages whose small words are not known; there the words that one rule alone has are enough. */
const SAME_FOREIGN = 0.25;
const OWN_WORDS = 0.8;
/** Least weight of words in common: one that only one rule has. */
const LEAST_SHARED = 0.5;
/** Share of all words of two rules from which one repeats the other, where one has all words of the other. */
const REPEATED_SHARE = 0.6;
/** The same for the cases in which two rules hold. */
const SAME_CASE = 0.75;

/** The rule that a text is about; undefined where no rule has enough of its words. */
function ruleAbout(
  text: string,
  rules: readonly LastingRule[],
  least: { ofText: number; ofRule: number; shared?: number },
): LastingRule | undefined {
  const terms = contentTerms(text);
  const weight = ruleWeights(rules);
  let best: { rule: LastingRule; score: number } | undefined;
  for (const rule of rules) {
    const { all } = topicOf(rule);
    const { sum: shared, share: ofText } = shareOf(terms, all, weight);
    // Common and short words are enough where they are all that both have.
    if (shared < LEAST_SHARED && (ofText < 1 || terms.length < 2)) continue;
    const { share: ofRule } = shareOf(all, terms, weight);
    if (shared < LEAST_SHARED && ofRule < 1) continue;
    if (ofText < least.ofText && ofRule < least.ofRule && shared < (least.shared ?? Infinity)) continue;
    const score = ofText + ofRule;
    if (!best || score >= best.score) best = { rule, score };
  }
  return best?.rule;
}

/** Rules that a sentence takes back. */
function takenBack(plain: string, rules: readonly LastingRule[]): readonly LastingRule[] {
  if (rules.length === 0) return [];
  if (BY_ALL.test(plain)) return rules;
  const isEnglish = [ADDRESSED_BY_NAME, ALLOWS, RELEASES, STOPS].some((pattern) => pattern.test(plain));
  // "Stop using tabs" ends what was asked for, and repeats what was forbidden.
  const isForeignStop = !isEnglish && stopsForeign(plain);
  const isOrder =
    isForeignStop || (STOPS.test(plain) && !ADDRESSED_BY_NAME.test(plain) && !ALLOWS.test(plain));
  const meant = isOrder ? rules.filter((rule) => !forbids(rule)) : rules;
  const isStrict = isEnglish || isForeignStop;
  const least = isStrict ? SAME_TOPIC : SAME_FOREIGN;
  const shared = isStrict ? Infinity : OWN_WORDS;
  const named = ruleAbout(plain, meant, { ofText: least, ofRule: least, shared });
  if (named) return [named];
  // "Forget that rule" is about the newest one.
  const newest = rules.at(-1);
  return newest && NAMES_RULE.test(plain) && ADDRESSED_BY_NAME.test(plain) && contentTerms(plain).length === 0
    ? [newest]
    : [];
}

/** Rules that differ in a number are two: `Never move boat 1.2`. */
function numbersOf(text: string): string {
  return (text.match(/\d+/g) ?? []).join();
}

/** Rules that a later rule replaces: what it names as replaced, the same slot of an answer, the same rule again. */
function replacedBy(plain: string, rules: readonly LastingRule[]): readonly LastingRule[] {
  const [, ofThing, from] = REPLACED_THING.exec(plain) ?? REPLACED_FOREIGN.exec(plain) ?? [];
  const thing = ofThing ?? from;
  const named =
    thing === undefined ? undefined : ruleAbout(thing, rules, { ofText: SAME_TOPIC, ofRule: 1.1 });
  const now = topicOf({ text: plain });
  const isInstead = /\binstead\b(?! of)/i.test(plain);
  return rules.filter((rule) => {
    if (rule === named) return true;
    const before = topicOf(rule);
    const hasSameNumbers = numbersOf(plain) === numbersOf(rule.text);
    if (hasSameNumbers && isWithin(now.all, before.all) && isAlike(now.all, before.all) >= REPEATED_SHARE)
      return true;
    if (isAlike(now.condition, before.condition) < SAME_CASE) return false;
    // "Answer in bullet points" is no end of "Never drop tables": a prohibition is replaced by its own words.
    const isOther = forbids(rule) && isAlike(now.all, before.all) === 0;
    if (!isOther && now.slots.some((slot) => before.slots.includes(slot))) return true;
    return isInstead && now.condition.length > 0;
  });
}

/** A sentence that sets a rule, or takes one back. */
export interface RuleSentence {
  text: string;
  /** The same with plain apostrophes. */
  plain: string;
  strength: number;
  revokes: boolean;
}

/** The sentences of a person's own words that set a rule or take one back, in order; most words have none. */
export function ruleSentences(words: string): RuleSentence[] {
  const text = words
    .split("\n")
    .filter((line) => !MARKUP_LINE.test(line))
    .join("\n");
  const sentences = sentencesOf(withWholeQuotes(text)).flatMap((sentence) => sentence.split(OTHER_SCRIPT));
  // A long paste has its question before or after it.
  const half = MOST_SENTENCES / 2;
  const read =
    sentences.length > MOST_SENTENCES ? [...sentences.slice(0, half), ...sentences.slice(-half)] : sentences;
  return read.map(withEndsOfQuotes).flatMap((sentence) => {
    if (sentence.length > MOST_RULE_SENTENCE) return [];
    const plain = plainWords(sentence).replace(POLITE_END, "$1.");
    const spoken = unquoted(plain);
    const strength = /[:：]$/.test(plain) ? 0 : strengthOf(spoken);
    const found = { text: sentence, plain, strength, revokes: revokesIn(spoken) };
    return found.strength > 0 || found.revokes ? [found] : [];
  });
}

/** The lasting rules after such sentences of one person; `by` where several people write. */
export function afterSentences(
  before: LastingRules,
  sentences: readonly RuleSentence[],
  by?: string,
): LastingRules {
  let { rules, revoked } = before;
  let found = 0;
  const revoke = (gone: readonly LastingRule[], end: string): void => {
    if (gone.length === 0) return;
    rules = rules.filter((rule) => !gone.includes(rule));
    const ended = gone.map((rule) => ({ text: rule.text, end: shorten(end, RULE_CHARS) }));
    revoked = [...revoked, ...ended].slice(-MOST_REVOKED);
  };
  const own = (): LastingRule[] => rules.filter((rule) => rule.by === by);
  for (const { text, plain, strength, revokes } of sentences) {
    const back = revokes ? takenBack(plain, own()) : [];
    revoke(back, text);
    if (back.length > 0 && !REPLACES.test(text) && !REPLACES_FOREIGN.test(text)) continue;
    if (strength === 0 || (back.length > 0 && [RELEASES, STOPS].some((each) => each.test(plain)))) continue;
    if (found >= MOST_OF_A_MESSAGE) continue;
    found += 1;
    revoke(replacedBy(plain, own()), text);
    const rule = { text: shorten(text, RULE_CHARS), strength, ...defined({ by }) };
    revoked = revoked.filter(({ text: gone }) => gone !== rule.text);
    rules = [...rules, rule].slice(-MOST_LASTING_RULES);
  }
  return rules === before.rules && revoked === before.revoked ? before : { rules, revoked };
}

/** The lasting rules after a person's own words; `by` where several people write. */
export function afterWords(before: LastingRules, words: string, by?: string): LastingRules {
  return afterSentences(before, ruleSentences(words), by);
}

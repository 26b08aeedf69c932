/**
 * Detects sentences with a decision, a constraint or an error. English cue words only refine the order; without a
 * match, the author, the position and how specific a sentence is decide.
 */
import { specificStrings } from "./identifiers.ts";

const CONSTRAINT =
  /\b(?:do not|don'?t|never|must(?: not|n'?t)?|always|only|without|instead|rather than|should(?: not|n'?t)?|has to|have to|need(?:s)? to|require[sd]?|make sure|ensure|keep|avoid|prefer|no longer|at (?:most|least)|exactly|important|not allowed|forbidden|limit|deadline)\b/i;
/** Encouragement and guesses of small talk, which have a word of a constraint and set none. */
const SMALL_TALK =
  /\bkeep(?:s|ing)? (?:it up|up\b|going|on\b|in touch|(?:that )?in mind|(?:me|us|you|them|him|her|my|your|our) (?:going|posted|\w+ed\b|\w+ing\b)|\w+ing\b)|\bmust(?: have|'ve)\b|\bmust be (?:so|such|really|fun|great|nice|hard|tough|amazing|exciting)\b/gi;
/** The beginning of a sentence that asks for something, also where it ends with an exclamation mark. */
const DEMAND =
  /^(?:(?:and|but|so|also|then|ok|okay|no|yes|please)[,!]? )*(?:do not|don'?t|never|always|only|please|make sure|ensure|avoid|keep|you (?:must|should|have to|need to)|stop|use)\b/i;
/** What a person asks of an agent, wherever in the sentence. */
const ASKED_OF_AGENT =
  /\b(?:please|from now on|call me|remember (?:that|to)|you (?:must|should|have to|need to|may not|can(?:no|')t)|i prefer|i need you|i want you|(?:answers?|repl(?:y|ies)|responses?|outputs?|texts?|summar(?:y|ies)) .{0,60}\b(?:must|ha(?:s|ve) to|should|only|at most))\b/i;
const DECISION =
  /\b(?:decid(?:e|ed|ing)|decision|chose|choose|we(?:'ll| will) (?:use|go|keep)|i(?:'ll| will) (?:use|go with|keep)|going with|settled on|agreed|because|so that|root cause|the (?:cause|problem|bug|issue|fix|reason) (?:is|was)|turns? out|caused by|in order to|trade-?off|switch(?:ed)? to|instead of|rather than|not needed|won'?t)\b/i;
const OUTCOME =
  /\b(?:done|fixed|added|removed|implemented|created|updated|renamed|moved|replaced|passes|passing|works|completed?|finished|verified|confirmed|found|now|still|remaining|left|todo|next)\b/i;
/** Announcements of the next step, which the calls show anyway. */
const OPENING =
  /^(?:let me|let's|let us|now[, ]|next[, ]|first[, ]|still |i'?ll (?:now |start|check|look|read|also |add |run )|i will (?:now |start|check|look|read)|i need to|i also need|okay|ok\b|sure|great|perfect|good|right\b|excellent|here(?:'s| is| are))/i;
const ACKNOWLEDGEMENT =
  /^(?:ok(?:ay)?|yes|yep|yeah|no|sure|thanks?(?: you)?|great|good|perfect|nice|cool|continue|go on|go ahead|please continue|do it|proceed)[\s.!,]*$/i;
/** Anything that may be an error, for output of a failed call. */
const ERROR_LINE =
  /\b(?:[A-Za-z]*(?:Error|Exception)|error|traceback|fatal|panic(?:ked)?|fail(?:ed|ure|s|ing)?|FAIL|denied|refused|not found|cannot|could not|undefined reference|timed? ?out|E[A-Z]{4,}|assert(?:ion)?)\b/;
/** Patterns that only an error report has, for output of a successful call. */
const ERROR_REPORT =
  /^\W*(?:error|fatal|panic|FAILED|FAIL|Traceback|not ok)\b|\b(?:error|fatal|panic):|\berror(?:\[\w+\]| [A-Z]+\d+)|\b[A-Z]\w*(?:Error|Exception)\b\s*[:)]|\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|command not found|No such file or directory|Permission denied/;
/** What every text with an error report has: a quick look at a long text. */
const HINT = /error|fatal|panic|fail|traceback|not\s+ok|exception|not\s+found|no\s+such|denied/i;
const NO_ERROR =
  /\b(?:0|no|without) (?:errors?|failures?|failed|failing|warnings?)\b|\b(?:errors?|failures?|failed|fail)[:=]?\s*0\b/i;

/** True for one sentence or more with a constraint. An exclamation counts where it asks for something: others are enthusiasm. */
export function isConstraint(text: string): boolean {
  if (!CONSTRAINT.test(text)) return false;
  return text.split(/(?<=[.!?])\s+/).some((sentence) => {
    if (sentence.trimEnd().endsWith("!") && !DEMAND.test(sentence.trimStart())) return false;
    return CONSTRAINT.test(sentence.replace(SMALL_TALK, " "));
  });
}

/** True for a constraint that is asked of the agent: where people only talk, the words of others are about themselves. */
export function isDemand(text: string): boolean {
  return (
    isConstraint(text) &&
    (ASKED_OF_AGENT.test(text) || text.split(/[.!?;:,]\s+/).some((clause) => DEMAND.test(clause)))
  );
}

export function isDecision(sentence: string): boolean {
  return DECISION.test(sentence) && !OPENING.test(sentence);
}

export function isAcknowledgement(text: string): boolean {
  return ACKNOWLEDGEMENT.test(text);
}

/** False where no line of a text can be an error report. */
export function mayReportErrors(text: string): boolean {
  return HINT.test(text);
}

/** True for a line that reports an error; `failed` is true when its call failed. */
export function isErrorLine(line: string, failed: boolean): boolean {
  return (failed ? ERROR_LINE : ERROR_REPORT).test(line) && !NO_ERROR.test(line);
}

/** Information in an assistant's sentence, 0 to 2.5; 0 when it only announces the next step. */
export function substance(sentence: string): number {
  if (OPENING.test(sentence)) return 0;
  const specific = Math.min(3, specificStrings(sentence).length) * 0.5;
  // A word or two ("Done.", "All green.") says nothing by itself.
  const long = sentence.length >= 24 ? 0.5 : 0;
  return specific + long + (OUTCOME.test(sentence) ? 0.5 : 0);
}

/**
 * Detects sentences with a decision, a constraint or an error. English cue words only refine the order; without a
 * match, the author, the position and how specific a sentence is decide.
 */
import {
  ASKED_HABIT,
  ASKED_OF_AGENT,
  CHOICE,
  COMMAND,
  LIMIT,
  NORMS,
  REPLACED,
  SMALL_TALK,
  TASK,
  UNDECIDED,
  WHOLE_RULE,
} from "./command-words.ts";
import { specificStrings } from "./specific-strings.ts";

/** What may follow the words of a clause. */
const MARKS = new Set(" \t\n\r.!?;:,)\"'");
/** What every constraint has: a quick look at a long text. */
const CONSTRAINT =
  /\b(?:do not|don['’]?t|never|must(?: not|n['’]?t)?|always|only|without|instead|rather than|should(?: not|n'?t)?|has to|have to|need(?:s)? to|require[sd]?|make sure|ensure|keep|avoid|prefer|no longer|at (?:most|least)|exactly|important|not allowed|forbidden|limit|deadline|stop|use|want)\b/i;
const DECISION =
  /\b(?:decid(?:e|ed|ing)|decision|chose|choose|we(?:'ll| will) (?:use|go|keep)|i(?:'ll| will) (?:use|go with|keep)|going with|settled on|agreed|because|so that|root cause|the (?:cause|problem|bug|issue|fix|reason) (?:is|was)|turns? out|caused by|in order to|trade-?off|switch(?:ed)? to|instead of|rather than|not needed|won'?t)\b/i;
const OUTCOME =
  /\b(?:done|fixed|added|removed|implemented|created|updated|renamed|moved|replaced|passes|passing|works|completed?|finished|verified|confirmed|found|now|still|remaining|left|todo|next)\b/i;
/** Announcements of the next step, which the calls show anyway. */
const OPENING_WORDS =
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

/**
 * A clause without the blanks and marks at its end. A pattern with `+$` would try each mark of a long run: all work on
 * a message has to grow no faster than its length, for it may have 100 kB and no blank.
 */
function withoutEnd(clause: string): string {
  let end = clause.length;
  while (end > 0 && MARKS.has(clause.charAt(end - 1))) end -= 1;
  return clause.slice(0, end);
}

/** Sentences and their clauses, without small talk. */
function clausesOf(text: string): { sentence: string; clauses: string[] }[] {
  const plain = text.replaceAll("’", "'").replaceAll(/\b(do)nt\b/gi, "$1n't");
  return plain.split(/(?<=[.!?])["')\]]*\s+|\n+/).map((part) => {
    const sentence = part.trim().replaceAll(SMALL_TALK, " ");
    const clauses = sentence.split(
      /[.!?;:,(—–]\s+|\s[-*•—–]\s|\s(?=(?:and|but|so)\s)|^(?:["'([*>-]+\s*|@\w+\s)/,
    );
    return { sentence, clauses: clauses.map((clause) => withoutEnd(clause.trim())) };
  });
}

function isBinding(sentence: string, clauses: readonly string[]): boolean {
  if (!CONSTRAINT.test(sentence)) return false;
  // "The port must stay, ok?" only asks for a nod.
  if (/[?？]["')\]]*$/.test(sentence) && !/, (?:ok|okay|right|alright|please)\?$/i.test(sentence))
    return ASKED_HABIT.test(sentence);
  if (clauses.some((clause) => COMMAND.test(clause) && CONSTRAINT.test(clause))) return true;
  // Other exclamations are enthusiasm.
  if (sentence.endsWith("!")) return false;
  return (
    ASKED_OF_AGENT.test(sentence) ||
    REPLACED.test(sentence) ||
    WHOLE_RULE.test(sentence) ||
    clauses.some((clause) => NORMS.some((norm) => norm.test(clause))) ||
    (LIMIT.test(sentence) && clauses.some((clause) => TASK.test(clause)))
  );
}

/**
 * True for one sentence or more of a person that sets a constraint: a command, or what has to be. Questions, and
 * facts about people themselves, set none.
 */
export function isConstraint(text: string): boolean {
  return (
    CONSTRAINT.test(text) && clausesOf(text).some(({ sentence, clauses }) => isBinding(sentence, clauses))
  );
}

/** True for a constraint that is asked of the agent: where people only talk, the words of others are about themselves. */
export function isDemand(text: string): boolean {
  if (!CONSTRAINT.test(text)) return false;
  return clausesOf(text).some(
    ({ sentence, clauses }) =>
      isBinding(sentence, clauses) &&
      (ASKED_OF_AGENT.test(sentence) || clauses.some((clause) => COMMAND.test(clause))),
  );
}

/** True for a sentence with a clause that begins with what is to be done. */
export function asksForTask(text: string): boolean {
  return clausesOf(text).some(
    ({ sentence, clauses }) =>
      !/[?？]["')\]]*$/.test(sentence) && clauses.some((clause) => TASK.test(clause) || COMMAND.test(clause)),
  );
}

/** True for a person's sentence that makes a choice; one that only thinks about it, or asks, makes none. */
export function isChoice(sentence: string): boolean {
  const plain = sentence.trim().replaceAll("’", "'");
  if (/[?？]["')\]]*$/.test(plain)) return false;
  if (/^\W*(?:(?:the|my|our|final) )*decision: /i.test(plain)) return true;
  return plain.split(/[.!;:,—–]\s+/).some((clause) => {
    const at = clause.search(CHOICE);
    return at >= 0 && !UNDECIDED.test(clause.slice(0, at));
  });
}

export function isDecision(sentence: string): boolean {
  return DECISION.test(sentence) && !OPENING_WORDS.test(sentence);
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
  if (OPENING_WORDS.test(sentence)) return 0;
  const specific = Math.min(3, specificStrings(sentence).length) * 0.5;
  // A word or two ("Done.", "All green.") says nothing by itself.
  const long = sentence.length >= 24 ? 0.5 : 0;
  return specific + long + (OUTCOME.test(sentence) ? 0.5 : 0);
}

/** What a person's statement is about, who wrote it, and whether it corrects an earlier one. By words, in a few languages. */
import { fold } from "./fold.ts";
import { WordForms } from "./word-forms.ts";
import { defined } from "@pagurus/core/data/defined";

const VALUE_KINDS = {
  day: /\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december|tomorrow|today|tonight|weekend|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|marz|mai|juni|juli|oktober|dezember|morgen|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|fevrier|mars|avril|juin|juillet|aout|septembre|octobre|novembre|decembre|demain|lunes|martes|miercoles|jueves|viernes|sabado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|manana)\b/g,
  clock:
    /\b(?:noon|midnight|mittag|midi|mediodia|morning|afternoon|evening|(?:at|um|a las?) (?:half past )?(?:\d{1,2}(?:[:.]\d\d)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)|\d{1,2}[:.h]\d\d|\d{1,2} ?(?:am|pm|uhr|h|o'?clock))\b/g,
  number:
    /\b(?:\d[\d.,:/-]*\w*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred)\b/g,
} as const;
type Kind = keyof typeof VALUE_KINDS;
const KINDS: readonly Kind[] = ["day", "clock", "number"];

/** Words of a correction, folded. */
const CORRECTS =
  /\b(?:actually|moved|now|instead|changed|changes|correction|corrected|corrects?|updated?|rescheduled|postponed|new|no longer|not? any ?more|in fact|(?:turns|turned) out|after all|change of plans?|switched|was wrong|mistaken?|eigentlich|tatsachlich|jetzt|nun|doch|statt(?:dessen)?|verschoben|verlegt|geandert|korrektur|nicht mehr|neue[rsnm]?|en fait|maintenant|finalement|plutot|desormais|deplacee?|reportee?|changee?|au lieu|n'est plus|nouvelle|nouveau|en realidad|ahora|cambiad[oa]|cambio|movid[oa]|aplazad[oa]|correccion|ya no|nuev[oa]|en (?:lugar|vez)|resulta que)\b/g;
/** Words of one that adds to an earlier one. */
const ADDS =
  /\b(?:also|as well|another|additionally|besides|auch|ausserdem|noch ein\w*|aussi|tambien)\b|\btoo(?=[.!]?$)/;
/** Words around a statement that are not about anything. */
const FRAME =
  /\b(?:please|remember|noted?|reminder|important|by the way|btw|sorry|wait|well|yes|no|ok(?:ay)?|hey|just|so|forget what i (?:wrote|said) before(?: about it)?|old|current(?:ly)?|got|bitte|ubrigens)\b/g;

/** Verbs that follow what a statement is about, folded. */
const VERB =
  /\b(?:is|are|was|were|has|have|had|will|would|can|could|should|must|does|do|did|gets?|got|goes|go|went|comes?|came|starts|started|begins|ends|opens|closes|lives|works|eats|drinks|uses|takes|took|moves|moved|changes|changed|costs|needs|wants|likes|leaves|arrives|ist|sind|war|hat|haben|wird|est|sont|ont|sera|tiene|estan)\b/;
/** What a thing does, by groups of verbs: it opens at one time and closes at another. */
const ACTIONS: readonly RegExp[] = [
  /\b(?:starts?|started|begins?|began|opens|opened|leaves?|departs?)\b/,
  /\b(?:ends|ended|finish(?:es|ed)|closes|closed|arrives?|arrived)\b/,
  /\b(?:lives|lived)\b/,
  /\b(?:works|worked)\b/,
  /\b(?:costs)\b/,
  /\b(?:needs|needed|wants|wanted)\b/,
];
/** What the speaker is, and not what a thing is. */
const OF_SPEAKER = /\b(?:i am|i'm|we are|we're|ich bin|wir sind|je suis|nous sommes|estoy|estamos)\b/;
const NEW = /^(?:new|neue[rsnm]?|nouvelle|nouveau|nuev[oa])$/;
const ORDINAL =
  /^(?:first|second|third|fourth|fifth|last|original|erste[rsnm]?|zweite[rsnm]?|dritte[rsnm]?|letzte[rsnm]?|premiere?|deuxieme|derniere?|primer[oa]?|segund[oa]|ultim[oa])$/;
const PREPOSITION =
  /\b(?:of|for|with|at|in|to|from|on|by|fur|vom?|von|mit|zum?|zur|im|am|de|du|des|del|pour|para|con)\b/;
const GAP = /[.!?;:,]\s+|\b(?:that|dass|que)\s/;

/** Beginnings of lines that look like an author and are none. */
const STATEMENT_LABEL =
  /^(?:correction|note|update|reminder|important|ps|p\.s\.|edit|actually|attention|question|answer|todo|fyi|info|news|warning|korrektur|nachtrag|wichtig|hinweis|notiz|rectification|correccion|nota|aviso|remember|please)\b/;
const IN_GROUP = /^([^\n]{1,200}?) in the group [^\n]{1,200}:\n\n/;
const SAYS = /^(\p{Lu}[\p{L}\p{N}._'-]*(?: \p{Lu}[\p{L}\p{N}._'-]*){0,2}(?: \([^()\n]{1,100}\))?): +(?=\S)/u;

/** The author that a message of a group begins with, and its other words. */
function authorOf(text: string): { author?: string; said: string } {
  const begin = IN_GROUP.exec(text) ?? SAYS.exec(text);
  if (!begin?.[1] || STATEMENT_LABEL.test(fold(begin[1]))) return { said: text };
  return { author: fold(begin[1]), said: text.slice(begin[0].length) };
}

interface Ordered {
  word: string;
  stem?: string;
}

export interface Statement {
  /** Who wrote it, in a group. */
  author?: string;
  /** Words with a meaning of their own, by their stems. */
  words: ReadonlySet<string>;
  /** The same without those of a correction and without days, times and numbers. */
  topic: ReadonlySet<string>;
  /** What is stated of something: those of `topic` before the verb, and the last of them. */
  subject: ReadonlySet<string>;
  head?: string;
  /** Numbers of things, by the noun before them, in what something is stated of: `Ticket 12`. */
  numbers: ReadonlyMap<string, string>;
  /** Groups of verbs in it. */
  actions: ReadonlySet<number>;
  /** What it is for. */
  purpose?: string;
  isOfSpeaker: boolean;
  /** All words in order, folded, and the stems of those with a meaning of their own. */
  order: readonly Ordered[];
  /** Words with a capital that do not begin a sentence, by what is before them. */
  names: ReadonlyMap<string, string>;
  kinds: ReadonlySet<Kind>;
  /** It corrects an earlier one, or adds to it. */
  corrects: boolean;
  adds: boolean;
}

const STATEMENT_WORD = /[\p{L}\p{N}]+/gu;
/** What is before the name of an owner. */
const OWNER_WORD = /^(?:for|of|fur|von|pour|para)$/;

function namesOf(said: string): Map<string, string> {
  const names = new Map<string, string>();
  for (const [, before = "", name = ""] of said.matchAll(
    /(?<![\p{L}\p{N}])([\p{L}\p{N}]+) (?=(\p{Lu}[\p{L}\p{N}]+))/gu,
  )) {
    const folded = fold(name);
    if (!folded.match(VALUE_KINDS.day)) names.set(fold(before), folded);
  }
  return names;
}

/** Numbers by the stem of the noun before them. */
function statementNumbers(before: string, stem: (word: string) => string | undefined): Map<string, string> {
  const numbers = new Map<string, string>();
  const parts = before.split(" ").filter((part) => part !== "");
  for (const [at, part] of parts.entries()) {
    const noun = stem(parts[at - 1] ?? "");
    if (noun && /^\d/.test(part)) numbers.set(noun, part);
  }
  return numbers;
}

const FOR = /^(?:for|fur|pour|para)$/;
const ARTICLE = /^(?:the|a|an|my|our|der|die|das|den|le|la|les|el|los|las)$/;
const POLITE = /^(?:sorry|thanks|thank|you|apologies|apologize)$/;

/** The stem of the noun after the first `for`. */
function purposeOf(order: readonly Ordered[]): string | undefined {
  const at = order.findIndex(
    ({ word }, place) => FOR.test(word) && !POLITE.test(order[place - 1]?.word ?? ""),
  );
  if (at < 0) return undefined;
  return order[at + (ARTICLE.test(order[at + 1]?.word ?? "") ? 2 : 1)]?.stem;
}

/** The word forms of the language of these texts: one alone may be too short to show it. */
export function formsOf(texts: readonly string[]): WordForms {
  return new WordForms(texts.flatMap((text) => fold(text).match(STATEMENT_WORD) ?? []));
}

export function statementOf(text: string, forms: WordForms): Statement {
  const { author, said } = authorOf(text);
  const folded = fold(said).replaceAll("’", "'");
  const all: string[] = folded.match(STATEMENT_WORD) ?? [];
  const stem = (word: string): string | undefined =>
    forms.isStopWord(word) ? undefined : (forms.stem(word) ?? word);
  const stemsOf = (part: string): string[] =>
    (part.match(STATEMENT_WORD) ?? []).flatMap((word) => stem(word) ?? []);
  let plain = folded.replaceAll(CORRECTS, " ").replaceAll(FRAME, " ");
  const kinds = new Set<Kind>();
  for (const kind of KINDS) {
    const without = plain.replaceAll(VALUE_KINDS[kind], " ");
    if (without !== plain) kinds.add(kind);
    plain = without;
  }
  const clause = folded
    .split(GAP)
    .map((part) => part.replaceAll(CORRECTS, (word) => (VERB.test(word) ? word : " ")).replaceAll(FRAME, " "))
    .find((part) => VERB.test(part) && stemsOf(part.slice(0, part.search(VERB))).length > 0);
  const before = clause?.slice(0, clause.search(VERB)) ?? "";
  const topic = new Set(stemsOf(plain));
  const subject = stemsOf(before).filter((word) => topic.has(word));
  const head = stemsOf(before.split(PREPOSITION)[0] ?? "").at(-1);
  const order = all.map((word): Ordered => {
    const found = topic.has(stem(word) ?? "") ? stem(word) : undefined;
    return found === undefined ? { word } : { word, stem: found };
  });
  const purpose = purposeOf(order);
  return {
    ...defined({ author, purpose }),
    words: new Set(stemsOf(folded)),
    topic,
    subject: new Set(subject),
    ...defined({ head }),
    numbers: statementNumbers(before, stem),
    actions: new Set(ACTIONS.flatMap((action, group) => (action.test(folded) ? [group] : []))),
    isOfSpeaker: OF_SPEAKER.test(folded),
    order,
    names: namesOf(said),
    kinds,
    corrects: folded.search(CORRECTS) >= 0,
    adds: ADDS.test(folded),
  };
}

function hasOther(one: ReadonlySet<string>, words: ReadonlySet<string>): boolean {
  for (const word of one) if (!words.has(word)) return true;
  return false;
}

/** Words of a statement that the other lacks, by the words before and after them. */
function placesOf(one: Statement, other: Statement): Set<string> {
  const places = new Set<string>();
  for (const [at, { stem }] of one.order.entries()) {
    const before = one.order[at - 1]?.word ?? "";
    const next = one.order[at + 1]?.stem;
    if (stem !== undefined && next !== undefined && !other.words.has(stem)) places.add(`${before} ${next}`);
  }
  return places;
}

/** A word of each where the words before and after it are the same: `my sister lives`, `my brother lives`. */
function differsInPlace(newer: Statement, older: Statement): boolean {
  // After the verb it is what was corrected: `my address is Main Street`.
  const isOfSame = newer.corrects && newer.head !== undefined && newer.head === older.head;
  const places = placesOf(older, newer);
  return [...placesOf(newer, older)].some(
    (place) => places.has(place) && !(isOfSame && startsWithVerb(place)),
  );
}

function startsWithVerb(place: string): boolean {
  return VERB.test(place.slice(0, place.indexOf(" ")));
}

/** `Ticket 12` and `Ticket 14`. */
function hasOtherNumber(newer: Statement, older: Statement): boolean {
  return [...newer.numbers].some(([noun, number]) => (older.numbers.get(noun) ?? number) !== number);
}

function isForOther(newer: Statement, older: Statement): boolean {
  const [one, other] = [newer.purpose, older.purpose];
  return one !== undefined && other !== undefined && !older.words.has(one) && !newer.words.has(other);
}

/** One opens and the other closes, at times of one kind. */
function doesOther(newer: Statement, older: Statement): boolean {
  if (newer.actions.size === 0 || older.actions.size === 0) return false;
  if ([...newer.actions].some((action) => older.actions.has(action))) return false;
  return older.kinds.size === 0 || hasKindOf(newer, older);
}

function hasKindOf(newer: Statement, older: Statement): boolean {
  return [...newer.kinds].some((kind) => older.kinds.has(kind));
}

/** `My first car` is not replaced by `my new car`. */
function isNotTheFirst(newer: Statement, older: Statement): boolean {
  if (!newer.order.some(({ word }) => NEW.test(word))) return false;
  return older.order.some(({ word }, at) => {
    const noun = older.order[at + 1]?.stem;
    return noun !== undefined && ORDINAL.test(word) && newer.topic.has(noun) && !hasWord(newer, word);
  });
}

function hasWord({ order }: Statement, wanted: string): boolean {
  return order.some(({ word }) => word === wanted);
}

/** `To Paris` and `from Paris`, but not what was changed `from Paris to Rome`. */
function goesBack(newer: Statement, older: Statement): boolean {
  const isBack = (there: Statement, back: Statement): boolean =>
    ["to", "nach"].some((to) => {
      const from = to === "to" ? "from" : "von";
      const name = there.names.get(to);
      return (
        name !== undefined && back.names.get(from) === name && !back.names.has(to) && !there.names.has(from)
      );
    });
  return isBack(older, newer) || isBack(newer, older);
}

function namesOthers(newer: Statement, older: Statement): boolean {
  return [...newer.names].some(([before, name]) => {
    const other = older.names.get(before);
    if (other === undefined || other === name) return false;
    // After a verb it is what was corrected: `we use Postgres`.
    return OWNER_WORD.test(before) || (!newer.corrects && newer.topic.has(before) && newer.subject.has(name));
  });
}

/** Whether they are of different people, or about different people or things. */
export function areOfOthers(newer: Statement, older: Statement): boolean {
  if (newer.author !== older.author) {
    // A lone one may be what the statement is about.
    const isTopic = (author: string | undefined, { words }: Statement): boolean =>
      author !== undefined && (author.match(STATEMENT_WORD) ?? []).some((word) => words.has(word));
    const isLone = newer.author === undefined || older.author === undefined;
    if (!isLone || !(isTopic(newer.author, older) || isTopic(older.author, newer))) return true;
  }
  return (
    (hasOther(newer.subject, older.words) && hasOther(older.subject, newer.words)) ||
    differsInPlace(newer, older) ||
    hasOtherNumber(newer, older) ||
    isForOther(newer, older) ||
    doesOther(newer, older) ||
    isNotTheFirst(newer, older) ||
    goesBack(newer, older) ||
    (newer.isOfSpeaker && older.head !== undefined && older.kinds.size > 0 && !hasKindOf(newer, older)) ||
    namesOthers(newer, older)
  );
}

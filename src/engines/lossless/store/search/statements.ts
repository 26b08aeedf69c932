/** What a person's statement is about, who wrote it, and whether it corrects an earlier one. By words, in a few languages. */
import { fold } from "./fold.ts";
import { WordForms } from "./word-forms.ts";

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
  /\b(?:actually|moved|now|instead|changed|changes|correction|corrected|corrects?|updated?|rescheduled|postponed|new|no longer|not? any ?more|in fact|(?:turns|turned) out|after all|was wrong|mistaken?|eigentlich|tatsachlich|jetzt|nun|doch|statt(?:dessen)?|verschoben|verlegt|geandert|korrektur|nicht mehr|neue[rsnm]?|en fait|maintenant|finalement|plutot|desormais|deplacee?|reportee?|changee?|au lieu|n'est plus|nouvelle|nouveau|en realidad|ahora|cambiad[oa]|cambio|movid[oa]|aplazad[oa]|correccion|ya no|nuev[oa]|en (?:lugar|vez)|resulta que)\b/g;
/** Words of one that adds to an earlier one. */
const ADDS =
  /\b(?:also|as well|another|additionally|besides|auch|ausserdem|noch ein\w*|aussi|tambien)\b|\btoo(?=[.!]?$)/;
/** Words around a statement that are not about anything. */
const FRAME =
  /\b(?:please|remember|noted?|reminder|important|by the way|btw|sorry|wait|well|yes|no|ok(?:ay)?|hey|just|so|forget what i (?:wrote|said) before(?: about it)?|old|current(?:ly)?|got|bitte|ubrigens)\b/g;

/** Verbs that follow what a statement is about, folded. */
const VERB =
  /\b(?:is|are|was|were|has|have|had|will|would|can|could|should|must|does|do|did|gets?|got|goes|go|went|comes?|came|starts|started|begins|ends|lives|works|takes|took|moves|moved|changes|changed|costs|needs|wants|likes|leaves|arrives|ist|sind|war|hat|haben|wird|est|sont|ont|sera|tiene|estan)\b/;
const PREPOSITION =
  /\b(?:of|for|with|at|in|to|from|on|by|fur|vom?|von|mit|zum?|zur|im|am|de|du|des|del|pour|para|con)\b/;
const GAP = /[.!?;:,]\s+|\b(?:that|dass|que)\s/;

/** Beginnings of lines that look like an author and are none. */
const LABEL =
  /^(?:correction|note|update|reminder|important|ps|p\.s\.|edit|actually|attention|question|answer|todo|fyi|info|news|warning|korrektur|nachtrag|wichtig|hinweis|notiz|rectification|correccion|nota|aviso|remember|please)\b/;
const IN_GROUP = /^([^\n]{1,200}?) in the group [^\n]{1,200}:\n\n/;
const SAYS = /^(\p{Lu}[\p{L}\p{N}._'-]*(?: \p{Lu}[\p{L}\p{N}._'-]*){0,2}(?: \([^()\n]{1,100}\))?): +(?=\S)/u;

/** The author that a message of a group begins with, and its other words. */
function authorOf(text: string): { author?: string; said: string } {
  const begin = IN_GROUP.exec(text) ?? SAYS.exec(text);
  if (!begin?.[1] || LABEL.test(fold(begin[1]))) return { said: text };
  return { author: fold(begin[1]), said: text.slice(begin[0].length) };
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
  /** All words in order, folded, and the stems of those with a meaning of their own. */
  order: readonly { word: string; stem?: string }[];
  /** Words with a capital that do not begin a sentence, by what is before them. */
  names: ReadonlyMap<string, string>;
  kinds: ReadonlySet<Kind>;
  /** It corrects an earlier one, or adds to it. */
  corrects: boolean;
  adds: boolean;
}

const WORD = /[\p{L}\p{N}]+/gu;
/** What is before the name of an owner. */
const OWNER = /^(?:for|of|fur|von|pour|para)$/;

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

/** The word forms of the language of these texts: one alone may be too short to show it. */
export function formsOf(texts: readonly string[]): WordForms {
  return new WordForms(texts.flatMap((text) => fold(text).match(WORD) ?? []));
}

export function statementOf(text: string, forms: WordForms): Statement {
  const { author, said } = authorOf(text);
  const folded = fold(said).replaceAll("’", "'");
  const all: string[] = folded.match(WORD) ?? [];
  const stem = (word: string): string | undefined =>
    forms.isStopWord(word) ? undefined : (forms.stem(word) ?? word);
  const stemsOf = (part: string): string[] => (part.match(WORD) ?? []).flatMap((word) => stem(word) ?? []);
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
  return {
    ...(author === undefined ? {} : { author }),
    words: new Set(stemsOf(folded)),
    topic,
    subject: new Set(subject),
    ...(head === undefined ? {} : { head }),
    order: all.map((word) => {
      const found = topic.has(stem(word) ?? "") ? stem(word) : undefined;
      return found === undefined ? { word } : { word, stem: found };
    }),
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

/** A word of each where the words before and after it are the same: `my sister lives`, `my brother lives`. */
function differsInPlace(one: Statement, other: Statement): boolean {
  return one.order.some(({ word, stem }, at) => {
    const next = one.order[at + 1];
    if (stem === undefined || next?.stem === undefined || other.words.has(stem)) return false;
    return other.order.some(
      (each, place) =>
        each.stem !== undefined &&
        each.word !== word &&
        !one.words.has(each.stem) &&
        other.order[place + 1]?.stem === next.stem &&
        other.order[place - 1]?.word === one.order[at - 1]?.word,
    );
  });
}

function namesOthers(newer: Statement, older: Statement): boolean {
  return [...newer.names].some(([before, name]) => {
    const other = older.names.get(before);
    if (other === undefined || other === name) return false;
    // After a verb it is what was corrected: `we use Postgres`.
    return OWNER.test(before) || (!newer.corrects && newer.topic.has(before) && newer.subject.has(name));
  });
}

/** Whether they are of different people, or about different people or things. */
export function areOfOthers(newer: Statement, older: Statement): boolean {
  if (newer.author !== older.author) {
    // A lone one may be what the statement is about.
    const isTopic = (author: string | undefined, { words }: Statement): boolean =>
      author !== undefined && (author.match(WORD) ?? []).some((word) => words.has(word));
    const isLone = newer.author === undefined || older.author === undefined;
    if (!isLone || !(isTopic(newer.author, older) || isTopic(older.author, newer))) return true;
  }
  return (
    (hasOther(newer.subject, older.words) && hasOther(older.subject, newer.words)) ||
    differsInPlace(newer, older) ||
    namesOthers(newer, older)
  );
}

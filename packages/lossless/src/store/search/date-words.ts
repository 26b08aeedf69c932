/** The dates that a query names (`8 May 2023`, `in June`, `2023-05`, `8.5.2023`, `5/8/2023`): a message of that time counts as having their words. */
import { fold } from "./fold.ts";
import { DATED_CHARS, relativeTimes } from "./relative-dates.ts";
import { defined } from "@pagurus/core/data/defined";

/**
 * Names of the months in English (short ones too: in other languages they are words, as `out` and `set`), German, French, Spanish,
 * Italian, Portuguese and Dutch, folded.
 */
const MONTH_NAMES = [
  "jan january januar janvier enero gennaio janeiro januari",
  "feb february februar fevrier febrero febbraio fevereiro februari",
  "mar march marz mars marzo marco maart",
  "apr april avril abril aprile",
  "may mai mayo maggio maio mei",
  "jun june juni juin junio giugno junho",
  "jul july juli juillet julio luglio julho",
  "aug august aout agosto augustus",
  "sept sep september septembre septiembre settembre setembro",
  "oct october oktober octobre octubre ottobre outubro",
  "nov november novembre noviembre novembro",
  "dec december dezember decembre diciembre dicembre dezembro",
];
/** People often write about a day some days later. Ms. */
const LATER_MS = 7 * 86_400_000;

export interface DateWords {
  /** Words of the query that name dates, folded. */
  words: ReadonlySet<string>;
  /** Whether a message of this time may be about one of the dates; ms since the epoch. */
  has(time: number): boolean;
}

interface NamedDate {
  year?: number;
  /** 0 to 11. */
  month?: number;
  day?: number;
}

interface Months {
  numbers: ReadonlyMap<string, number>;
  /** A month with the numbers around it, in a folded text. */
  named: RegExp;
}

function readMonths(): Months {
  const numbers = new Map(
    MONTH_NAMES.flatMap((names, month) => names.split(" ").map((name) => [name, month] as const)),
  );
  const before = "(?:(\\d{1,2})(?:st|nd|rd|th|\\.|er|º)? (?:of |de |di )?)?(?<!\\p{L})";
  const after = "\\.?(?: (\\d{1,2})(?:st|nd|rd|th)?(?!\\d))?(?:,? (?:de |del )?(\\d{4}))?(?![\\p{L}\\p{N}])";
  const named = new RegExp(`${before}(${[...numbers.keys()].join("|")})(?!\\p{L})${after}`, "gu");
  return { numbers, named };
}

let months: Months | undefined;

const NUMERIC = /(?<![\p{L}\p{N}-])(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?![\p{L}\p{N}-])/gu;
/** `8.5.2023`, and with slashes in both orders. */
const SEPARATED = /(?<![\p{L}\p{N}./])(\d{1,2})([./])(\d{1,2})\2(\d{4})(?![\p{L}\p{N}/]|\.\d)/gu;
const YEAR = /(?<!\p{L})(?:in|im|en|nel|em|of|since|seit|year|jahr) ((?:19|20)\d\d)(?![\p{L}\p{N}])/giu;
/** What is before a month that has no number; people have such names, too, and something is `from`, `of` or `before` them. Folded. */
const BEFORE_MONTH = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${(
    "in last since until till during early late mid this next every each through throughout between the past previous coming " +
    "im seit bis ab anfang mitte ende wahrend des letzten letzter vergangenen nachsten kommenden diesen jeden monat " +
    "en depuis des debut fin fino desde hasta durante principios finales entre este ultimo proximo nel entro scorso em ate " +
    "sinds tot begin eind half medio vanaf tijdens vorige afgelopen volgende deze elke"
  ).replaceAll(
    " ",
    "|",
  )}|(?:weeks?|weekend|days?|month|start|beginning|middle|mid|end|half|part|rest|first|last|course|principios|finales|fin|fine|inizio|inicio|final|begin|eind) (?:of|de|di|del|van))[\\s-]$`,
  "u",
);
/** A word that begins a time where another month follows, as in `from March to June`. Folded. */
const FROM = /(?<![\p{L}\p{N}])(?:from|von|vom|de|da|dal|van) $/u;
const TO_MONTH = /^ (?:to|till|until|through|bis|a|al|ate|tot) (\p{L}{3,10})(?!\p{L})/u;
const LONGEST_BEFORE = 25;
/** What is between two months. Folded. */
const BETWEEN_MONTHS =
  /^(?:,? (?:and|or|to|till|until|through|und|oder|bis|et|ou|y|o|e|en|of|a|al|ate|tot) |, ?| ?[-–/] ?)$/;

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function namedDate(year?: number, month?: number, day?: number): NamedDate {
  return defined({ year, month, day });
}

function isIn(date: NamedDate, time: number): boolean {
  const made = new Date(time);
  return (
    (date.year ?? made.getUTCFullYear()) === made.getUTCFullYear() &&
    (date.month ?? made.getUTCMonth()) === made.getUTCMonth() &&
    (date.day ?? made.getUTCDate()) === made.getUTCDate()
  );
}

/** Whether a time is that of a date, or up to a week later. */
function isOf(date: NamedDate, time: number): boolean {
  if (date.day === undefined) return isIn(date, time) || isIn(date, time - LATER_MS);
  for (let at = time; at >= time - LATER_MS; at -= 86_400_000) if (isIn(date, at)) return true;
  return false;
}

/** Whether a word of time, or a month that ends at `last`, is right before the month from `start` to `end` of a folded query. */
function followsTime(
  query: string,
  { last, start, end }: { last: number | undefined; start: number; end: number },
): boolean {
  if (last !== undefined && start - last <= LONGEST_BEFORE && BETWEEN_MONTHS.test(query.slice(last, start)))
    return true;
  const before = query.slice(Math.max(0, start - LONGEST_BEFORE), start);
  if (BEFORE_MONTH.test(before)) return true;
  const to = FROM.test(before) ? TO_MONTH.exec(query.slice(end, end + LONGEST_BEFORE)) : null;
  return months?.numbers.has(to?.[1] ?? "") === true;
}

/** The dates of a query, those as `yesterday` seen from `askedAt`, ms since the epoch; undefined for one without. */
export function datesIn(asked: string, askedAt?: number): DateWords | undefined {
  const query = asked.slice(0, DATED_CHARS);
  const dates: NamedDate[] = [];
  const times = askedAt === undefined ? [] : relativeTimes(query, askedAt);
  const words = new Set<string>();
  const add = (date: NamedDate, text: string): void => {
    dates.push(date);
    for (const word of text.match(/[\p{L}\p{N}]+/gu) ?? []) words.add(fold(word));
  };
  for (const [text, year, month, day] of query.matchAll(NUMERIC)) {
    add(namedDate(numberOf(year), Number(month) - 1, numberOf(day)), text);
    words.add(text);
  }
  for (const [text, first, separator, second, year] of query.matchAll(SEPARATED)) {
    add(namedDate(numberOf(year), Number(second) - 1, Number(first)), text);
    if (separator === "/") add(namedDate(numberOf(year), Number(first) - 1, Number(second)), text);
    words.add(text);
  }
  const folded = fold(query);
  months ??= readMonths();
  /** Where the last month ends. */
  let last: number | undefined;
  for (const found of folded.matchAll(months.named)) {
    const [text, before, name = "", after, year] = found;
    const end = found.index + text.length;
    const isNumbered = before !== undefined || after !== undefined || year !== undefined;
    // Without a number only a capital after a word of time, or another month, makes a date: `may` and `march` are words, `August` and `May` names.
    const isTime =
      /^\p{Lu}/u.test(query.charAt(found.index)) && followsTime(folded, { last, start: found.index, end });
    if (!isNumbered && !isTime) continue;
    last = end;
    add(namedDate(numberOf(year), months.numbers.get(name), numberOf(before ?? after)), text);
  }
  for (const [text, year] of query.matchAll(YEAR)) {
    if (words.has(year ?? "")) continue;
    dates.push(namedDate(numberOf(year)));
    words.add(text.slice(-4));
  }
  for (const { text } of times) for (const word of text.match(/[\p{L}\p{N}]+/gu) ?? []) words.add(word);
  if (dates.length === 0 && times.length === 0) return undefined;
  return {
    words,
    has: (time) =>
      dates.some((date) => isOf(date, time)) || times.some(({ from, to }) => from <= time && time < to),
  };
}

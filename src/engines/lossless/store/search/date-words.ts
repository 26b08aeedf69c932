/** The dates that a query names (`8 May 2023`, `in June`, `2023-05`, `8.5.2023`, `5/8/2023`): a message of that time counts as having their words. */
import { fold } from "./query.ts";

/** Languages whose names of months are known. */
const LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "nl"];
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

let months: ReadonlyMap<string, number> | undefined;

/** Names of months to their numbers, folded; short ones in English alone, since others are words, as `out` and `set`. */
function monthNames(): ReadonlyMap<string, number> {
  const names = new Map<string, number>();
  for (const language of LANGUAGES)
    for (const length of language === "en" ? (["short", "long"] as const) : (["long"] as const)) {
      const format = new Intl.DateTimeFormat(language, { month: length, timeZone: "UTC" });
      for (let month = 0; month < 12; month++) names.set(fold(format.format(Date.UTC(2024, month))), month);
    }
  return names;
}

const NUMERIC = /(?<![\p{L}\p{N}-])(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?![\p{L}\p{N}-])/gu;
/** `8.5.2023`, and with slashes in both orders. */
const SEPARATED = /(?<![\p{L}\p{N}./])(\d{1,2})([./])(\d{1,2})\2(\d{4})(?![\p{L}\p{N}/]|\.\d)/gu;
const NAMED =
  /(?:(\d{1,2})(?:st|nd|rd|th|\.|er|º)? (?:of |de |di )?)?(?<!\p{L})(\p{L}{3,10})\.?(?: (\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,? (?:de |del )?(\d{4}))?(?![\p{L}\p{N}])/gu;
const YEAR = /(?<!\p{L})(?:in|im|en|nel|em|of|since|seit|year|jahr) ((?:19|20)\d\d)(?![\p{L}\p{N}])/giu;

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function dateOf(year?: number, month?: number, day?: number): NamedDate {
  return {
    ...(year === undefined ? {} : { year }),
    ...(month === undefined ? {} : { month }),
    ...(day === undefined ? {} : { day }),
  };
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

/** The dates of a query; undefined for one without. */
export function datesIn(query: string): DateWords | undefined {
  const dates: NamedDate[] = [];
  const words = new Set<string>();
  const add = (date: NamedDate, text: string): void => {
    dates.push(date);
    for (const word of text.match(/[\p{L}\p{N}]+/gu) ?? []) words.add(fold(word));
  };
  for (const [text, year, month, day] of query.matchAll(NUMERIC)) {
    add(dateOf(numberOf(year), Number(month) - 1, numberOf(day)), text);
    words.add(text);
  }
  for (const [text, first, separator, second, year] of query.matchAll(SEPARATED)) {
    add(dateOf(numberOf(year), Number(second) - 1, Number(first)), text);
    if (separator === "/") add(dateOf(numberOf(year), Number(first) - 1, Number(second)), text);
    words.add(text);
  }
  for (const found of query.matchAll(NAMED)) {
    const [text, before, name = "", after, year] = found;
    const month = (months ??= monthNames()).get(fold(name));
    const isNumbered = before !== undefined || after !== undefined || year !== undefined;
    // Without a number only a capital inside of a sentence makes a date: `may` and `march` are words.
    const isName = found.index > 0 && /^\p{Lu}/u.test(name);
    if (month === undefined || (!isNumbered && !isName)) continue;
    add(dateOf(numberOf(year), month, numberOf(before ?? after)), text);
  }
  for (const [text, year] of query.matchAll(YEAR)) {
    if (words.has(year ?? "")) continue;
    dates.push(dateOf(numberOf(year)));
    words.add(text.slice(-4));
  }
  if (dates.length === 0) return undefined;
  return { words, has: (time) => dates.some((date) => isOf(date, time)) };
}

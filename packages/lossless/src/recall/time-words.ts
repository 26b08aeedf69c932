/** Reads the dates of a search, and whether a question asks for the order of time. */
import { DAY_MS } from "@pagurus/core/data/interval";

const DATE = /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2}):(\d{2}))?)?)?$/;

/** The time of a year, a month, a day or a minute in UTC: its first moment, and the first one after it. Ms since the epoch. */
export interface TimeSpan {
  start: number;
  end: number;
}

/** Reads `2026`, `2026-05`, `2026-05-17` or `2026-05-17 09:30`. Undefined for anything else, and for days that no month has. */
export function timeSpan(text: string): TimeSpan | undefined {
  const found = DATE.exec(text.trim());
  if (!found) return undefined;
  const [year = 0, month, day, hour, minute] = found
    .slice(1)
    .map((part) => (part === undefined ? undefined : Number(part)));
  const start = Date.UTC(year, (month ?? 1) - 1, day ?? 1, hour ?? 0, minute ?? 0);
  const made = new Date(start);
  const isReal =
    made.getUTCFullYear() === year &&
    made.getUTCMonth() === (month ?? 1) - 1 &&
    made.getUTCDate() === (day ?? 1) &&
    made.getUTCHours() === (hour ?? 0) &&
    made.getUTCMinutes() === (minute ?? 0);
  if (!isReal) return undefined;
  if (hour !== undefined) return { start, end: start + 60_000 };
  if (day !== undefined) return { start, end: start + DAY_MS };
  return { start, end: month === undefined ? Date.UTC(year + 1, 0) : Date.UTC(year, month) };
}

/** Words of questions about order or number, which a page in the order of time answers. */
const ORDER_WORDS = new RegExp(
  `(?<![\\p{L}\\p{N}_])(?:${[
    "how (?:many|often|long)|number of times|(?:every|each) time",
    // `What order did I place?` asks for a thing.
    "in (?:which|what) order|(?:which|what) order [^?]{0,100} in(?=\\s*(?:\\?|$))|order of(?! magnitude)|sequence of|timeline|chronolog\\p{L}*",
    "(?:the )?(?:first|last|latest|earliest) time|came (?:first|last)|happened (?:first|last|before|after)",
    "wie (?:oft|viele|lange)|reihenfolge|jedes mal",
    "combien|dans quel ordre|chaque fois|cu[aá]nt[oa]s|en qu[eé] orden|cada vez que|quant[oa]s|em que ordem|quant[ei]|in che ordine|ogni volta",
    "hoe (?:vaak|veel|lang)|hoeveel|in welke volgorde|elke keer|сколько раз|как часто|в каком порядке|каждый раз",
  ].join("|")})(?![\\p{L}\\p{N}_])|何回|几次|多少次`,
  "iu",
);

export function asksForOrder(query: string): boolean {
  return ORDER_WORDS.test(query);
}

/** Times that a query names from the day on which it is asked (`yesterday`, `last week`, `two months ago`, `vor drei Tagen`). */
import { fold } from "./fold.ts";

const DAY_MS = 86_400_000;
/** The time zone of who asks is not known: days begin and end so much earlier and later, ms. */
const ZONE_MS = DAY_MS / 2;

/** Names of days, weeks, months and years, folded, in the languages whose words the index knows. */
const UNITS = [
  "days?|tag(?:en?)?|jours?|dias?|giorn[oi]|dag(?:en)?",
  "weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken",
  "months?|monat(?:en?)?|mois|mes(?:es)?|mesi|maand(?:en)?",
  "years?|jahr(?:en?)?|ans?|annees?|anos?|ann[io]|jaar",
].map((names) => new RegExp(`^(?:${names})$`));
const NUMBERS = [
  "a|an|one|eine[mnrs]?|une?|una?|uno|um|uma|een",
  "two|couple|zwei|deux|dos|due|dois|duas|twee",
  "three|few|drei|trois|tres|tre|drie",
  "four|vier|quatre|cuatro|quattro|quatro",
  "five|funf|cinq|cinco|cinque|vijf",
  "six|sechs|seis|sei|zes",
].map((names) => new RegExp(`^(?:${names})$`));
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

const YESTERDAY = /\b(?:yesterday|last night|gestern|ayer|ieri|ontem|gisteren)\b/g;
const TODAY = /\b(?:earlier today|today|this morning|heute|aujourd'hui|hoy|oggi|hoje|vandaag)\b/g;
/** A count and a unit between words that make them a time in the past. */
const AGO =
  /\b(?:(?:(?<before>\w+)(?: of)? (?<unitBefore>[a-z]+) (?:ago|geleden|fa|atras)|(?:vor|il y a|hace|ha) (?<after>\w+) (?<unitAfter>[a-z]+)))\b/g;
const LAST =
  /\b(?:(?:last|past|previous|letzte[mnrs]?|vorige[mnrs]?|afgelopen) (?<unitBefore>[a-z]+)|(?<unitAfter>[a-z]+) (?:derniere?|pasad[oa]|scors[oa]|passad[oa]))\b/g;

/** Times from `from` until before `to`, ms since the epoch, and the words that name them. */
export interface NamedTime {
  text: string;
  from: number;
  to: number;
}

function startOfDay(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS;
}

function countOf(word: string): number | undefined {
  if (/^\d{1,3}$/.test(word)) return Number(word);
  const at = NUMBERS.findIndex((names) => names.test(word));
  return at < 0 ? undefined : at + 1;
}

/** 0 for days to 3 for years; -1 for another word. */
function unitOf(groups: Record<string, string> | undefined): number {
  return UNITS.findIndex((names) => names.test(groups?.["unitBefore"] ?? groups?.["unitAfter"] ?? ""));
}

/** The calendar day, week, month or year that is `back` units before that of `now`: its start and its end. */
function period(unit: number, back: number, now: number): [number, number] {
  const today = startOfDay(now);
  const date = new Date(today);
  const year = date.getUTCFullYear();
  if (unit === 0) return [today - back * DAY_MS, today - (back - 1) * DAY_MS];
  if (unit === 1) {
    const monday = today - ((date.getUTCDay() + 6) % 7) * DAY_MS;
    return [monday - 7 * back * DAY_MS, monday - 7 * (back - 1) * DAY_MS];
  }
  if (unit === 2) {
    const month = date.getUTCMonth() - back;
    return [Date.UTC(year, month), Date.UTC(year, month + 1)];
  }
  return [Date.UTC(year - back, 0), Date.UTC(year - back + 1, 0)];
}

/** The times that a query names, asked at `now`, ms since the epoch. */
export function relativeTimes(query: string, now: number): NamedTime[] {
  const text = fold(query).replaceAll(/\s+/g, " ");
  const times: NamedTime[] = [];
  const add = (found: string, unit: number, back: number): void => {
    const [from, to] = period(unit, back, now);
    times.push({ text: found, from: from - ZONE_MS, to: to + ZONE_MS });
  };
  for (const [found] of text.matchAll(YESTERDAY)) add(found, 0, 1);
  for (const [found] of text.matchAll(TODAY)) add(found, 0, 0);
  for (const { 0: found, groups } of text.matchAll(AGO)) {
    const count = countOf(groups?.["before"] ?? groups?.["after"] ?? "");
    const unit = unitOf(groups);
    if (count !== undefined && unit >= 0) add(found, unit, count);
  }
  for (const { 0: found, groups } of text.matchAll(LAST)) {
    const unit = unitOf(groups);
    if (unit > 0) add(found, unit, 1);
    const weekday = WEEKDAYS.indexOf(groups?.["unitBefore"] ?? "");
    if (weekday >= 0) add(found, 0, ((new Date(now).getUTCDay() - weekday + 6) % 7) + 1);
  }
  return times;
}

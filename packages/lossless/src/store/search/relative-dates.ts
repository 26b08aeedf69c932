/** Times that a query names from the day on which it is asked (`yesterday`, `last week`, `two months ago`, `vor drei Tagen`). */
import { DAY_MS } from "@pagurus/core/data/interval";
import { fold } from "./fold.ts";

/** The time zone of who asks is not known: days begin and end so much earlier and later, ms. */
const ZONE_MS = DAY_MS / 2;

/** Names of days, weeks, months and years, folded, in the languages whose words the index knows. */
const UNITS = [
  "days?|tag(?:en?)?|jours?|dias?|giorn[oi]|dag(?:en)?",
  "weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken",
  "months?|monat(?:en?)?|mois|mes(?:es?|i)?|maand(?:en)?",
  "years?|jahr(?:en?)?|ans?|annees?|anos?|ann[io]|jaar",
].map(wholeWord);
const WEEKEND = wholeWord("weekend|wochenende|week-end");
/** From one. */
const NUMBERS = [
  "a|an|one|eine[mnrs]?|une?|una?|uno|um|uma|een",
  "two|couple|zwei|deux|dos|due|dois|duas|twee",
  "three|few|drei|trois|tres|tre|drie",
  "four|vier|quatre|cuatro|quattro|quatro",
  "five|funf|cinq|cinco|cinque|vijf",
  "six|sechs|seis|sei|zes",
  "seven|sieben|sept|siete|sette|sete|zeven",
  "eight|acht|huit|ocho|otto|oito",
  "nine|neun|neuf|nueve|nove|negen",
  "ten|zehn|dix|diez|dieci|dez|tien",
  "eleven|elf|onze|once|undici",
  "twelve|zwolf|douze|doce|dodici|doze|twaalf",
].map(wholeWord);
/** From Sunday. */
const WEEKDAYS = [
  "sunday|sonntag|dimanche|domingo|domenica|zondag",
  "monday|montag|lundi|lunes|lunedi|segunda(?:-feira)?|maandag",
  "tuesday|dienstag|mardi|martes|martedi|terca(?:-feira)?|dinsdag",
  "wednesday|mittwoch|mercredi|miercoles|mercoledi|quarta(?:-feira)?|woensdag",
  "thursday|donnerstag|jeudi|jueves|giovedi|quinta(?:-feira)?|donderdag",
  "friday|freitag|vendredi|viernes|venerdi|sexta(?:-feira)?|vrijdag",
  "saturday|samstag|sonnabend|samedi|sabado|sabato|zaterdag",
].map(wholeWord);
const ON_WEEKDAY = /\bon (?:sun|mon|tues|wednes|thurs|fri|satur)day\b(?! of\b)/g;
/** Words of a question about what is to come, whose Monday is the next one. */
const FUTURE = /\b(?:will|shall|going to|tomorrow|next|coming|upcoming)\b|'ll\b/;

/** The day before yesterday in the first group. */
const YESTERDAY =
  /\b(?:((?:the )?day before yesterday|vorgestern|avant-hier|anteayer|antes de ayer|altro ieri|anteontem|antes de ontem|eergisteren)|yesterday|last night|gestern|ayer|ieri|ontem|gisteren)\b/g;
const TODAY = /\b(?:earlier today|today|this morning|heute|aujourd'hui|hoy|oggi|hoje|vandaag)\b/g;
/** A name after a quotation mark; not the apostrophe of `d'aujourd'hui`. */
const NAME_BEFORE = /(?:^|[^a-z0-9])['’‘]$|["“”„«`]$/;
const NAME_AFTER = /^(?:\.[a-z0-9]|['’]s\b)/;
/** A count and a unit between words that make them a time in the past. */
const AGO =
  /\b(?:(?:(?<before>\w+)(?: of)? (?<unitBefore>[a-z]+) (?:ago|geleden|fa|atras)|(?:vor|il y a|hace|ha) (?<after>\w+) (?<unitAfter>[a-z]+)))\b/g;
/** Not `the next to last week`, nor `the last week of June`. */
const LAST =
  /(?<!\b(?:next|second|third)[ -]to[ -])\b(?:(?:last|past|previous|letzte[mnrs]?|vergangene[mnrs]?|vorig(?:e[mnrs]?)?|afgelopen) (?<unitBefore>[a-z]+(?:-[a-z]+)?)|(?<unitAfter>[a-z]+(?:-[a-z]+)?) (?:derniere?|pasad[oa]|scors[oa]|passad[oa]))\b(?! of\b)/g;
/** The last days or weeks until now. */
const LAST_FEW =
  /\b(?:(?:last|past|previous|letzten|vergangenen|afgelopen|laatste|ultim[aeio]s?) (?<before>\w+) (?<unitBefore>[a-z]+)|(?<after>\w+) dernier(?:e)?s (?<unitAfter>[a-z]+))\b(?! of\b)/g;
const THIS = /\b(?:this|diese[mnrs]?|cet?te|ce|est[ae]|quest[ao]|deze) (?<unitBefore>[a-z]+)\b(?! of\b)/g;

function wholeWord(names: string): RegExp {
  return new RegExp(`^(?:${names})$`);
}

/** Characters of a query in which dates are looked for. */
export const DATED_CHARS = 10_000;

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

type Groups = Record<string, string> | undefined;

function unitNameOf(groups: Groups): string {
  return groups?.["unitBefore"] ?? groups?.["unitAfter"] ?? "";
}

/** 0 for days to 3 for years; -1 for another word. */
function unitOf(groups: Groups): number {
  return UNITS.findIndex((names) => names.test(unitNameOf(groups)));
}

function countIn(groups: Groups): number | undefined {
  return countOf(groups?.["before"] ?? groups?.["after"] ?? "");
}

/** The first moment of the last so many days, weeks, months or years. */
function startOfLast(unit: number, count: number, now: number): number {
  const today = startOfDay(now);
  if (unit < 2) return today - count * (unit === 0 ? 1 : 7) * DAY_MS;
  const date = new Date(today);
  return Date.UTC(
    date.getUTCFullYear(),
    date.getUTCMonth() - count * (unit === 2 ? 1 : 12),
    date.getUTCDate(),
  );
}

/** Whether a word at `start` until `end` names a thing: it is quoted, part of a file's name, in capitals or has something. */
function isName(query: string, start: number, end: number): boolean {
  const word = query.slice(start, end);
  if (word === word.toUpperCase() && /\p{Ll}/u.test(query)) return true;
  return (
    NAME_BEFORE.test(query.slice(Math.max(0, start - 2), start).toLowerCase()) ||
    NAME_AFTER.test(query.slice(end, end + 3).toLowerCase())
  );
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
  const words = query.slice(0, DATED_CHARS).replaceAll(/\s+/g, " ");
  const text = fold(words);
  const times: NamedTime[] = [];
  const today = startOfDay(now);
  const addSpan = (found: string, from: number, to: number): void => {
    times.push({ text: found, from: from - ZONE_MS, to: to + ZONE_MS });
  };
  const add = (found: string, unit: number, back: number): void => addSpan(found, ...period(unit, back, now));
  /** The last one before today. */
  const addWeekday = (found: string, name: string): void => {
    const weekday = WEEKDAYS.findIndex((names) => names.test(name));
    if (weekday >= 0) add(found, 0, ((new Date(now).getUTCDay() - weekday + 6) % 7) + 1);
  };
  for (const { 0: found, 1: before, index } of text.matchAll(YESTERDAY))
    if (!isName(words, index, index + found.length)) add(found, 0, before === undefined ? 1 : 2);
  for (const { 0: found, index } of text.matchAll(TODAY))
    if (!isName(words, index, index + found.length)) add(found, 0, 0);
  for (const { 0: found, groups } of text.matchAll(AGO)) {
    const count = countIn(groups);
    const unit = unitOf(groups);
    if (count !== undefined && unit >= 0) add(found, unit, count);
  }
  for (const { 0: found, groups } of text.matchAll(LAST)) {
    const unit = unitOf(groups);
    if (unit > 0) add(found, unit, 1);
    const [monday] = period(1, 0, now);
    if (WEEKEND.test(unitNameOf(groups))) addSpan(found, monday - 2 * DAY_MS, monday);
    addWeekday(found, unitNameOf(groups));
  }
  for (const { 0: found, groups } of text.matchAll(LAST_FEW)) {
    const count = countIn(groups);
    const unit = unitOf(groups);
    if (count !== undefined && unit >= 0) addSpan(found, startOfLast(unit, count, now), today + DAY_MS);
  }
  for (const { 0: found, groups } of text.matchAll(THIS)) {
    const unit = unitOf(groups);
    if (unit === 1 || unit === 2) add(found, unit, 0);
  }
  if (!FUTURE.test(text)) for (const [found] of text.matchAll(ON_WEEKDAY)) addWeekday(found, found.slice(3));
  return times;
}

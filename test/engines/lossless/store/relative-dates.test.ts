import assert from "node:assert/strict";
import { test } from "node:test";
import { datesIn } from "../../../../packages/lossless/src/store/search/date-words.ts";
import { recallPassages } from "../../../../packages/lossless/src/recall/pages.ts";
import { relativeTimes } from "../../../../packages/lossless/src/store/search/relative-dates.ts";

import { messageEntry, withStore } from "./fixtures.ts";
import { cpuMs } from "../../../runner/cpu-time.ts";

/** A Saturday. */
const NOW = Date.parse("2026-11-28T10:00:00Z");

function datesOf(query: string): string[] {
  const halfDay = 12 * 3_600_000;
  const day = (time: number): string => new Date(time).toISOString().slice(0, 10);
  return relativeTimes(query, NOW).map(({ from, to }) => `${day(from + halfDay)} ${day(to - halfDay)}`);
}

test("a day, a week, a month and a year of the past are counted from the day of the question", () => {
  assert.deepEqual(datesOf("What did I buy yesterday?"), ["2026-11-27 2026-11-28"]);
  assert.deepEqual(datesOf("What did I say earlier today?"), ["2026-11-28 2026-11-29"]);
  assert.deepEqual(datesOf("Where were we three days ago?"), ["2026-11-25 2026-11-26"]);
  assert.deepEqual(datesOf("What did we decide last week?"), ["2026-11-16 2026-11-23"]);
  assert.deepEqual(datesOf("And a couple of weeks ago?"), ["2026-11-09 2026-11-16"]);
  assert.deepEqual(datesOf("As we did last month"), ["2026-10-01 2026-11-01"]);
  assert.deepEqual(datesOf("The trip 11 months ago"), ["2025-12-01 2026-01-01"]);
  assert.deepEqual(datesOf("What was it last year?"), ["2025-01-01 2026-01-01"]);
  assert.deepEqual(datesOf("On last Saturday, and last Friday"), [
    "2026-11-21 2026-11-22",
    "2026-11-27 2026-11-28",
  ]);
});

test("such dates are known in the languages of the index", () => {
  for (const query of [
    "Was haben wir letzte Woche beschlossen?",
    "Qu'est-ce qu'on a décidé la semaine dernière ?",
    "¿Qué decidimos la semana pasada?",
    "Cosa abbiamo deciso la settimana scorsa?",
    "O que decidimos na semana passada?",
    "Wat hebben we vorige week besloten?",
  ])
    assert.deepEqual(datesOf(query), ["2026-11-16 2026-11-23"], query);
  for (const query of [
    "vor zwei Monaten",
    "il y a deux mois",
    "hace dos meses",
    "due mesi fa",
    "dois meses atrás",
    "twee maanden geleden",
  ])
    assert.deepEqual(datesOf(query), ["2026-09-01 2026-10-01"], query);
  for (const query of ["gestern", "ayer", "ieri", "ontem", "gisteren"])
    assert.deepEqual(datesOf(query), ["2026-11-27 2026-11-28"], query);
});

test("the day before yesterday is two days back", () => {
  for (const query of [
    "What did I do the day before yesterday?",
    "vorgestern",
    "avant-hier",
    "anteayer",
    "l'altro ieri",
  ])
    assert.deepEqual(datesOf(query), ["2026-11-26 2026-11-27"], query);
});

test("a number in letters, the days until now, this week and this month are known", () => {
  for (const [index, count] of ["seven", "eight", "nine", "ten", "eleven", "twelve"].entries())
    assert.deepEqual(datesOf(`It was ${count} days ago`), [`2026-11-${21 - index} 2026-11-${22 - index}`]);
  for (const query of [
    "in the last three days",
    "in den letzten drei Tagen",
    "les trois derniers jours",
    "los últimos 3 días",
  ])
    assert.deepEqual(datesOf(query), ["2026-11-25 2026-11-29"], query);
  assert.deepEqual(datesOf("past two weeks"), ["2026-11-14 2026-11-29"]);
  assert.deepEqual(datesOf("the last six months"), ["2026-05-28 2026-11-29"]);
  for (const query of ["this week", "diese Woche", "cette semaine", "esta semana"])
    assert.deepEqual(datesOf(query), ["2026-11-23 2026-11-30"], query);
  assert.deepEqual(datesOf("What happened this month?"), ["2026-11-01 2026-12-01"]);
});

test("a day of the week is the last one before today", () => {
  for (const query of [
    "What did I do on Monday?",
    "last Monday",
    "letzten Montag",
    "lundi dernier",
    "el lunes pasado",
    "lunedì scorso",
    "segunda-feira passada",
    "afgelopen maandag",
  ])
    assert.deepEqual(datesOf(query), ["2026-11-23 2026-11-24"], query);
  for (const query of ["last weekend", "letztes Wochenende", "le week-end dernier"])
    assert.deepEqual(datesOf(query), ["2026-11-21 2026-11-23"], query);
  assert.deepEqual(datesOf("What will I do on Monday?"), []);
});

test("a long query takes no time", async () => {
  for (const part of [
    "last ",
    "a-",
    "a ",
    "1 of day ago ",
    "derniers ",
    "May ",
    "from May to ",
    "the day before ",
  ]) {
    const query = part.repeat(200_000 / part.length);
    assert.ok((await cpuMs(() => datesIn(query, NOW))) < 2_000, part);
  }
});

test("other words of time are words", () => {
  for (const query of [
    "How long ago was it?",
    "The last day of school",
    "At last we went",
    "The weekly plan and the monthly one",
    "Some months, some years",
    "Last but not least",
    "Does the 'today' flag work?",
    "Does `yesterday` work?",
    "How do I center today's widget in YESTERDAY.css?",
    "Open yesterday.md",
    "When is the last Sunday of the month?",
    "What is my last week of vacation?",
    "What about the next to last week?",
  ])
    assert.deepEqual(datesOf(query), [], query);
});

test("the words of such a date are none that a message needs, and messages of its time are of it", () => {
  const dates = datesIn("What did we decide about the kayak last week?", NOW);
  assert.deepEqual([...(dates?.words ?? [])], ["last", "week"]);
  assert.ok(dates?.has(Date.parse("2026-11-18T08:00:00Z")));
  assert.ok(!dates?.has(Date.parse("2026-11-26T08:00:00Z")));
  assert.equal(datesIn("What did we decide about the kayak last week?"), undefined);
});

test("of messages with the same words the one of the time that the question names comes first", async () => {
  await withStore(async (store) => {
    const days = ["2026-10-05", "2026-11-18", "2026-11-26"];
    const entries = days.map((day, index) =>
      messageEntry(
        `m${index}`,
        index === 0 ? null : `m${index - 1}`,
        {
          role: "assistant",
          content: [{ type: "text", text: `The kayak gets another coat of paint, number ${index}.` }],
          stopReason: "stop",
        },
        { timestamp: `${day}T09:00:00.000Z`, turnId: `turn ${index}` },
      ),
    );
    const question = messageEntry("m3", "m2", "When?", { timestamp: new Date(NOW).toISOString() });
    store.ingestTurn("s1", [...entries, question]);
    const first = async (query: string): Promise<string | undefined> => {
      const page = await recallPassages(store, { query, asking: "s1", budgetTokens: 1_000 });
      return page.passages[0]?.id;
    };
    assert.equal(await first("Which coat of paint does the kayak get last week?"), "m1");
    assert.equal(await first("Which coat of paint does the kayak get last month?"), "m0");
    assert.equal(await first("Which coat of paint does the kayak get two days ago?"), "m2");
  });
});

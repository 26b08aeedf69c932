import assert from "node:assert/strict";
import { test } from "node:test";
import { datesIn } from "../../../../packages/lossless/src/store/search/date-words.ts";

function has(query: string, day: string): boolean | undefined {
  return datesIn(query)?.has(Date.parse(`${day}T12:00:00Z`));
}

test("a query with a day, a month or a year has the messages of that time, and of the week after", () => {
  assert.equal(has("What happened on 7 July, 2023?", "2023-07-07"), true);
  assert.equal(has("What happened on July 7th, 2023?", "2023-07-12"), true);
  assert.equal(has("What happened on 7 July, 2023?", "2023-07-06"), false);
  assert.equal(has("What happened on 7 July, 2023?", "2022-07-07"), false);
  assert.equal(has("Where were you in June?", "2021-06-30"), true);
  assert.equal(has("Where were you in June?", "2021-07-20"), false);
  assert.equal(has("Was ist am 3. März passiert?", "2024-03-03"), true);
  assert.equal(has("¿Qué hicimos el 12 de mayo de 2024?", "2024-05-14"), true);
  assert.equal(has("What was in 2023-05?", "2023-05-31"), true);
  assert.equal(has("What was new in 2023?", "2024-02-01"), false);
  assert.equal(has("Where were you on 31 Dec 2023?", "2023-12-31"), true);
  assert.equal(has("Where were you on Dec. 31?", "2023-12-30"), false);
  assert.equal(has("What happened on the 5th of May?", "2023-05-05"), true);
  assert.equal(has("What happened on the 5th of May?", "2023-05-20"), false);
  assert.equal(has("What happened since 8 May?", "2023-05-20"), false);
  assert.equal(has("What happened in Sept?", "2023-09-20"), true);
  assert.equal(has("What happened on 24.01.2024?", "2024-01-24"), true);
  assert.equal(has("What happened on 24.01.2024?", "2024-01-23"), false);
  assert.equal(has("What happened on 1/24/2024?", "2024-01-24"), true);
  assert.equal(has("What happened on 3/4/2024?", "2024-03-04"), true);
  assert.equal(has("What happened on 3/4/2024?", "2024-04-03"), true);
});

test("the months of seven languages are known by their names", () => {
  for (const language of ["en", "de", "fr", "es", "it", "pt", "nl"]) {
    const long = new Intl.DateTimeFormat(language, { month: "long", timeZone: "UTC" });
    for (let month = 0; month < 12; month += 1) {
      const day = new Date(Date.UTC(2024, month, 3));
      const query = `3 ${long.format(day)} 2024`;
      assert.equal(datesIn(query)?.has(day.getTime()), true, query);
      assert.equal(datesIn(query)?.has(Date.UTC(2024, (month + 6) % 12, 3)), false, query);
    }
  }
});

test("words that are no dates stay words", () => {
  assert.equal(datesIn("May I march on?")?.words.has("march"), undefined);
  assert.equal(datesIn("Is port 2023 open?"), undefined);
  assert.equal(datesIn("Is version 1.2.2023.4 out?"), undefined);
  assert.deepEqual([...(datesIn("What was on 8 May, 2023?")?.words ?? [])], ["8", "may", "2023"]);
});

test("a month without a number is a date after a word of time or another month, else it may be a name", () => {
  for (const query of [
    "What did we do last May?",
    "What happened in early June?",
    "What was the first week of November?",
    "What was new by mid-December?",
    "Which trips were in March, April or May?",
    "What was planned from March to June?",
    "Who came between August and November 2023?",
    "Wo waren wir Anfang Mai?",
    "Was war im März und im Juni?",
    "Wat deden we afgelopen April?",
  ])
    assert.ok(datesIn(query), query);
  for (const query of [
    "What did August purchase?",
    "Which boat has August got?",
    "What did Theresa May say?",
    "Did June like the cake?",
    "Does Mark like March Madness?",
    "Was hat Mai Tai gekostet?",
    "What did Ruben and June buy?",
    "May August come?",
    "What did I buy from April?",
    "Tell me about the book from May",
    "What did August say before June came home?",
    "Which letter of August did April read?",
    "Who sat by June?",
  ])
    assert.equal(datesIn(query), undefined, query);
  assert.deepEqual([...(datesIn("What did I buy from April 2023?")?.words ?? [])], ["april", "2023"]);
  assert.deepEqual([...(datesIn("What did June buy in May?")?.words ?? [])], ["may"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { hasQuestionMark } from "../../../src/engines/lossless/recall/searched-text.ts";

test("a question mark counts wherever people put one", () => {
  for (const text of [
    "Where is it?",
    "Where is it? I forgot.",
    "Where is it?\nThank you.",
    'She asked "where is it?" again.',
    "Where is it (the boat)?",
    "Is it 5%?",
    "Where is `boat.ts`?",
    "**Where is it?** Thank you.",
    "Where is it??",
    "Is it 5€?",
    "What?!",
    "And the boat...?",
    "Where is it?🙂",
    "Where is it?, she said",
    "Où est la clé ? Je ne sais plus.",
    "Où est la clé\u00a0?",
    "« Où est la clé ? »",
    "¿Dónde está?",
    "船在哪里？在港口",
    "船在哪里?在港口",
    "أين المفتاح؟",
    "नाव कहाँ है?",
    "Is user?.name set?",
  ])
    assert.equal(hasQuestionMark(text), true, text);
});

test("a question mark in code or in an address is none", () => {
  for (const text of [
    "Use user?.name here.",
    "Open http://localhost/?a=1 now.",
    "Open http://localhost/find?a=1&b=2 now.",
    "Write a ?? b instead.",
    "Make it a ??= b.",
    "Declare name?: string in it.",
    "Replace /colou?r/ everywhere.",
    "Insert VALUES (?, ?, ?) there.",
    "Call list?.[0] and then run?.() on it.",
    "Add WHERE a=? AND b=? to it.",
    `${"?".repeat(100_000)}x`,
    "Where is it",
    "?",
  ])
    assert.equal(hasQuestionMark(text), false, text);
});

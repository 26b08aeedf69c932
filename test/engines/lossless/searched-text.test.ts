import assert from "node:assert/strict";
import { test } from "node:test";
import { hasQuestionMark } from "../../../packages/lossless/src/recall/searched-text.ts";
import { cpuMs } from "../../runner/cpu-time.ts";

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
    "where is it? i forgot",
    "où est la clé ? je ne sais plus",
    "where is it? i forgot; sorry;",
    "is a=1 right? i think so",
    "can you run `npm test`? it fails with code=1",
    "what is C#?",
    "Is it src/?",
    "where is it?…",
    "What is it?:)",
    "Where is it?—I forgot",
    "Is it Paris?",
    "Really? i forgot",
    "Where is it? (I forgot)",
    "Ποιο είναι\u037E",
    "Ποιο είναι;",
    "I saw https://x.org/find?a=1 there. Where is it?",
    "看 https://x.org/船？",
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
    "val x: Int?",
    "var s: String?\nvar t: Int?",
    "String? name",
    "int? x = null;",
    "WHERE id = ?",
    "https://x.org/find?",
    "https://x.org/search?\nSee it.",
    "const a = b ? c : d;",
    "if (ok?) then",
    "const a = b? c : d;",
    "val x: Int? = null",
    "let y = run()? + 1;",
    "Use `a?` here.",
    "```\nIs it?\n```",
    "array.empty? && x",
    "let a = bar()?;",
  ])
    assert.equal(hasQuestionMark(text), false, text);
});

test("a long text of marks takes no time", async () => {
  for (const part of ["!?", "?*", "a!!", "a?", " ?", "`", "a?! ", "://", "a? b=", "let a: ", "if (a"]) {
    const text = part.repeat(400_000 / part.length) + "x";
    assert.ok((await cpuMs(() => hasQuestionMark(text))) < 2_000, part);
  }
});

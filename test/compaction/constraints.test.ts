/** Which sentences of a user set a constraint that a summary has to keep. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isChoice, isConstraint, isDemand } from "../../src/compaction/summary/salience.ts";

test("a sentence that asks for something or forbids it is a constraint, also with an exclamation mark", () => {
  for (const sentence of [
    "Never push to main.",
    "Please don't touch src/api.ts!",
    "You must keep the public API as it is!",
    "And keep it simple!",
    "The answer has to be valid JSON.",
    "I prefer tabs.",
    "Keep the old names in the database.",
    "Thanks a lot! From now on only use pnpm. Great work!",
  ])
    assert.equal(isConstraint(sentence), true, sentence);
});

test("a command is a constraint wherever in a sentence its clause begins, and so is what has to be", () => {
  for (const sentence of [
    "Only use tabs.",
    "Always run lint",
    "Don’t push.",
    "Never ever push.",
    "You must be brief.",
    "You must not push.",
    "We never force-push.",
    "We don't use semicolons here.",
    "No, use pnpm instead.",
    "Use X instead of Y.",
    "All files must have a header.",
    "Refactor the parser without changing the API.",
    "Fix the bug, but don't change the tests.",
    "Answer only in French.",
    "Change only src/a.ts.",
    "When you edit a file, never change its header.",
    "In this repo always use tabs.",
    "Task 3: never touch file F3.",
    "I don't want you to touch the tests.",
    "At most 80 characters per line.",
    "The deadline is Friday.",
    "Could you always answer in English?",
  ])
    assert.equal(isConstraint(sentence), true, sentence);
});

test("questions, and facts about people themselves and about others, are no constraints", () => {
  for (const sentence of [
    "I don't know.",
    "What should I do?",
    "Should I bring a cake?",
    "Never mind.",
    "Don't worry.",
    "Don't know.",
    "I don't like rain.",
    "I only slept two hours.",
    "I always loved that song.",
    "I never saw her again.",
    "I should go to bed.",
    "I have to work tomorrow.",
    "She always sings.",
    "You should have seen his face!",
    "You must be tired.",
    "Without coffee I am lost.",
    "We had to wait at least an hour.",
    "Never been there.",
    "Nothing important.",
    "Always a pleasure!",
    "Exactly, that is what I mean.",
    "It only works on Linux.",
  ])
    assert.equal(isConstraint(sentence), false, sentence);
});

test("a person's sentence makes a choice where it decides, not where it asks, considers or gives a reason", () => {
  for (const sentence of [
    "We decided to use Postgres.",
    "Let's go with the blue one.",
    "OK, let’s use Postgres.",
    "I'll take the second one.",
    "We agreed to meet at noon.",
    "After the talk we decided not to move.",
    "Decision: no ORM.",
  ])
    assert.equal(isChoice(sentence), true, sentence);
  for (const sentence of [
    "We haven't decided yet.",
    "Should we go with the blue one?",
    "If we go with blue, tell me.",
    "Maybe we'll use Vue.",
    "I was late because of the train.",
    "My sister decided to leave.",
    "Let's see.",
    "I'll take a look.",
  ])
    assert.equal(isChoice(sentence), false, sentence);
});

test("encouragement, enthusiasm and guesses of small talk are no constraints", () => {
  for (const sentence of [
    "Keep it up!",
    "Keep up the awesome work!",
    "It gives me the oomph to keep chasing my dreams.",
    "I'm always here for you, Mel!",
    "That must have been a surprise.",
    "It must be so much fun.",
    "Knowing you've got my back really helps keep me going.",
    "The harbour office has a list of ships.",
  ])
    assert.equal(isConstraint(sentence), false, sentence);
});

test("where people only talk, a constraint is what is asked of the agent", () => {
  for (const sentence of [
    "I'm a vegetarian, never suggest meat.",
    "Please keep your answers short.",
    "From now on only write in French.",
    "Your answers should have at most two sentences.",
    "Kevin: Always remind me of my pills.",
    "I prefer short answers.",
  ])
    assert.equal(isDemand(sentence), true, sentence);
  for (const sentence of [
    "Your last day of the semester must feel like a nice accomplishment.",
    "In history, the exchanges of the Silk Road era always fascinate me.",
    "I usually mix in a variety of exercises to keep things interesting.",
    "Tonight's playoffs are a must-watch for me.",
    "It's often helpful to make sustainable changes rather than drastic ones.",
  ])
    assert.equal(isDemand(sentence), false, sentence);
});

test("a long run of marks, letters or blanks in a line does not change what it sets", () => {
  for (const run of [".", " ", '"', ")", "a", "x ", "I ", ". "].map((part) => part.repeat(20_000))) {
    assert.equal(isConstraint(`never x ${run}b`), true, run.slice(0, 2));
    assert.equal(isDemand(`never x ${run}b`), true, run.slice(0, 2));
    assert.equal(isConstraint(`it is ${run}b`), false, run.slice(0, 2));
    assert.equal(isChoice(`we decided to ${run}b`), true, run.slice(0, 2));
  }
});

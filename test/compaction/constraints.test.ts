/** Which sentences of a user set a constraint that a summary has to keep. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isConstraint, isDemand } from "../../src/compaction/summary/salience.ts";

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

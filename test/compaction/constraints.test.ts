/** Which sentences of a user set a constraint that a summary has to keep. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isChoice, isConstraint, isDemand } from "../../packages/core/src/compaction/summary/salience.ts";

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

test("a short rule is a constraint unless it is plainly about a feeling, a state or the past of a person", () => {
  for (const sentence of [
    "Always pinned versions.",
    "Never nested ternaries.",
    "Never hardcoded paths.",
    "Only signed commits.",
    "Never logging secrets.",
    "Never swallowing errors.",
    "Always escaping user input.",
    "Never a default export.",
    "Always an explicit return type.",
    "Never again use eval.",
    "Only when I say so.",
    "Don't even think about touching prod.",
    "Don't want any new dependencies.",
    "Do not have more than one class per file.",
    "Don't you dare force push!",
    "Don't bother with Windows.",
    "You must try the migration on a copy first.",
    "You need to see the logs before you change anything.",
    "You should know that the CI only runs on Linux.",
    "Prefer const over let.",
    "Prefer composition!",
    "Error messages are always lowercase.",
    "Dates are always in UTC.",
    "Ids are never reused.",
    "The config file is never committed.",
    "Comments always end with a full stop.",
    "You never commit to main.",
    "You always run the tests before you commit.",
    "Imports go at the top, always.",
    "I must not break the old clients.",
    "I have to keep Python 3.8 support.",
    "He has to approve each release.",
    "I need exactly one commit.",
    "I want only the failing tests in the output.",
    "I don't want eval in this code.",
    "Retry at most three times.",
    "At least 80 % coverage.",
    "No deploys without my OK.",
    "Without my OK, nothing gets deployed.",
    "You can only use the standard library.",
    "We don't want ORMs here.",
    "I told you to never use eval.",
    "I said never use eval.",
    "Could you make sure the tests pass?",
    "Can you keep the port at 8080?",
    "Could you avoid any new dependencies?",
    "The port must stay 8080, ok?",
    "> never use any",
    "@bot always answer in German",
    "We avoid classes.",
    "Tests are to be written without mocks.",
    "I need it to work without Docker.",
    "Only my tests matter.",
  ])
    assert.equal(isConstraint(sentence), true, sentence);
  for (const sentence of [
    "I never saw him.",
    "Never again!",
    "Only kidding.",
    "Never tried that.",
    "Always happy to help!",
    "Only two days left!",
    "Don't worry about it.",
    "Don't think so.",
    "Don't mind me.",
    "Don't care.",
    "You must try it!",
    "You have to see it.",
    "You should come over sometime.",
    "You must know how I feel.",
    "She has to work on Sundays.",
    "He always makes me laugh.",
    "I have to leave now.",
    "I must go.",
    "We never slept.",
    "We always loved the sea.",
    "You always make me laugh.",
    "You always know what to say.",
    "Can you keep a secret?",
    "That's always fun.",
    "Without coffee, I am lost.",
    "I need at least eight hours of sleep.",
    "The bus never came.",
    "I said I never slept.",
    "It's always sunny here.",
    "He's always late.",
    "I don't want to go.",
    "At least it was sunny.",
    "At least we tried.",
    "Never give up!",
    "Don't hesitate to call.",
    "Only time will tell.",
    "She needs to use her phone less.",
    "I must forget it, ok?",
    "Thanks for being there, always.",
  ])
    assert.equal(isConstraint(sentence), false, sentence);
});

test("a choice is no small talk of a day, and small talk no choice", () => {
  for (const sentence of [
    "We went with Postgres.",
    "We go with Postgres.",
    "Postgres it is.",
    "I'd go with B.",
    "OK, option B.",
    "Option 2 please.",
    "I picked the blue one.",
    "We picked Postgres.",
    "We're going to keep the old API.",
    "We're going to take the second one.",
    "I'll use Vue.",
    "We'll use Postgres.",
    "I'm going to use pnpm.",
    "I'll go with the first.",
    "Let's keep the old names.",
    "Let's take the second one.",
    "Let's use tabs.",
    "Go with B.",
    "I'm going with Postgres.",
    "We have decided that we use Postgres.",
    "We chose Redis.",
  ])
    assert.equal(isChoice(sentence), true, sentence);
  for (const sentence of [
    "I'll use the train.",
    "I picked up the kids.",
    "I picked strawberries with Anna.",
    "I'm going to take a nap.",
    "Let's keep in touch.",
    "Let's take a walk.",
    "We're going to keep fingers crossed.",
    "Go with the flow.",
    "I have decided that I love autumn.",
    "What a day it is!",
    "I'll use my bike.",
    "I'll take the bus.",
    "I'll take the dog out.",
    "I went with my sister.",
    "I'm going with you.",
    "Let's take it easy.",
    "Let's take some pictures.",
    "I'm going to stick around.",
    "I'll keep that in mind.",
    "Let's keep dreaming.",
    "Go with your heart.",
    "I'm going to take the kids to school.",
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

/** The limit on messages that wait for their answers: who floods is refused with one message, and what was accepted is answered. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ChannelConfig } from "../../packages/core/src/config/config-types.ts";
import { IncomingSetting } from "./incoming-setting.ts";

const ANN = { from: "ann@example.org", name: "Ann" };
const BOB = { from: "bob@example.org", name: "Bob" };
const CREW = "crew@rooms.example.org";

describe("messages that wait for their answers", () => {
  let setting: IncomingSetting | undefined;
  afterEach(() => setting?.remove());

  function open(config: ChannelConfig = {}): IncomingSetting {
    setting = new IncomingSetting({
      kind: "xmpp",
      allow: [ANN.from, BOB.from],
      groups: { [CREW]: {} },
      waitingPerPerson: 3,
      waitingPerSession: 4,
      ...config,
    });
    return setting;
  }

  const prompts = (home: IncomingSetting): string[] => home.work.map(({ request }) => request.prompt);

  /** Ends the oldest work and queues its answer, as the host does. */
  async function answerFirst(home: IncomingSetting): Promise<void> {
    const [first] = home.work;
    assert.ok(first);
    await home.inbox.ended(first, { outcome: "completed" });
    const place = home.store.placeOf(first.id);
    assert.ok(place);
    home.store.answer(first.id, place, [{ text: `answer to ${first.request.prompt}` }]);
  }

  it("of one person are bounded: the person gets one message about it, others are not refused", async () => {
    const home = open();
    for (let at = 0; at < 50; at += 1) await home.receive({ ...ANN, text: `flood ${at}` });
    await home.receive({ ...BOB, text: "and me?" });
    assert.deepEqual(prompts(home), ["flood 0", "flood 1", "flood 2", "and me?"]);
    assert.deepEqual(home.sent(), [
      {
        to: ANN.from,
        text: "I did not take your last message: 3 messages of yours wait here for an answer already, which is the most. Please write it again when some are answered.",
      },
    ]);
    assert.equal(home.refused.length, 47, "the log has each of them");
    assert.match(home.refused[0] ?? "", /^a message of ann@example\.org was not accepted: 3/);
    assert.doesNotMatch(home.refused.join(), /flood/, "the log has no text");
  });

  it("count for one person whatever the thread, and however the address is written", async () => {
    const home = open();
    for (const thread of ["a", "b", "c", "d"]) await home.receive({ ...ANN, thread, text: thread });
    await home.receive({ from: "Ann@Example.org", thread: "e", text: "e" });
    assert.equal(home.work.length, 3);
  });

  it("of a group are bounded for all its members together, and the refusal names its sender", async () => {
    const home = open();
    for (const person of [ANN, ANN, BOB, BOB, BOB])
      await home.receive({ ...person, group: CREW, isMention: true, text: "crab: hi" });
    assert.equal(home.work.length, 4);
    const [refusal, ...more] = home.sent();
    assert.deepEqual(more, []);
    assert.equal(refusal?.to, CREW);
    assert.match(refusal.text, /^Bob \(bob@example\.org\): I did not take .* 4 messages wait here/);
  });

  it("of strangers that a group answers are bounded in the same way", async () => {
    const home = open({ groups: { [CREW]: { from: "all" } } });
    for (let at = 0; at < 9; at += 1)
      await home.receive({ from: "eve@example.org", group: CREW, isMention: true, text: "hi" });
    assert.equal(home.work.length, 3);
    assert.equal(home.sent().length, 1);
  });

  it("are accepted again once one is answered, and the next flood has its own refusal after the queue was empty", async () => {
    const home = open();
    for (let at = 0; at < 5; at += 1) await home.receive({ ...ANN, text: `one ${at}` });
    assert.equal(home.sent().length, 1);
    await answerFirst(home);
    await home.receive({ ...ANN, text: "two" });
    assert.deepEqual(prompts(home), ["one 1", "one 2", "two"]);
    await home.receive({ ...ANN, text: "three" });
    assert.deepEqual(
      home.sent().map(({ text }) => text),
      ["answer to one 0"],
      "the refusal was sent already",
    );
    while (home.work.length > 0) await answerFirst(home);
    for (let at = 0; at < 5; at += 1) await home.receive({ ...ANN, text: `four ${at}` });
    const refusals = home.sent().filter(({ text }) => text.startsWith("I did not take"));
    assert.equal(refusals.length, 1);
  });

  it("that were accepted and come again are not refused, and have one turn", async () => {
    const home = open();
    for (let at = 0; at < 3; at += 1) await home.receive({ ...ANN, id: `id-${at}`, text: `one ${at}` });
    for (let at = 0; at < 3; at += 1) await home.receive({ ...ANN, id: `id-${at}`, text: `one ${at}` });
    assert.equal(home.work.length, 3);
    await answerFirst(home);
    await home.receive({ ...ANN, text: "another" });
    await home.receive({ ...ANN, id: "id-0", text: "one 0" });
    assert.deepEqual(prompts(home), ["one 1", "one 2", "another"]);
    assert.deepEqual(home.refused, []);
  });

  it("do not keep a person from commands, whose answers are bounded too", async () => {
    const home = open();
    for (let at = 0; at < 4; at += 1) await home.receive({ ...ANN, text: `flood ${at}` });
    await home.receive({ ...ANN, text: "/compact" });
    await home.receive({ ...ANN, text: "/status" });
    const sent = home.sent().map(({ text }) => text);
    assert.equal(sent.length, 2, "the refusal and the status");
    assert.match(sent[1] ?? "", /No turn runs; 3 messages wait/);
    for (let at = 0; at < 50; at += 1) await home.receive({ ...ANN, text: "/status" });
    assert.equal(home.sent().length, 3);
  });
});

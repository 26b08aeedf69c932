/** Programs that answer each answer: the conversation with them ends, whichever thread they write in. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { CHANNEL, IncomingSetting } from "./incoming-setting.ts";

const ROBOT = { from: "desk@example.org" };

describe("a robot that is allowed to speak", () => {
  let home: IncomingSetting;
  afterEach(() => home.remove());

  /** Each message that runs a turn gets an answer. */
  async function write(thread: string, from = ROBOT.from): Promise<boolean> {
    const before = home.work.length;
    await home.receive({ from, thread, text: "We have received your mail." });
    const work = home.work.at(-1);
    if (!work || home.work.length === before) return false;
    home.store.answer(work.id, { channel: CHANNEL, address: from, isGroup: false, thread }, [
      { text: "Aye." },
    ]);
    return true;
  }

  it("and begins a thread with each message gets a limited number of answers an hour", async () => {
    home = new IncomingSetting({ kind: "email", allow: [ROBOT.from, "ann@example.org"], answersPerHour: 5 });
    const answered: boolean[] = [];
    for (let at = 0; at < 30; at += 1) answered.push(await write(`ticket-${at}`));
    assert.equal(answered.filter(Boolean).length, 10, "twice as many as in one thread");
    assert.match(home.store.missed(CHANNEL) ?? "", /^desk@example\.org had 10 answers within an hour/);
    assert.match(home.refused.at(-1) ?? "", /^desk@example\.org had 10 answers/);
    assert.equal(await write("buoys", "ann@example.org"), true, "others are answered");
  });

  it("and writes in one thread gets the answers of one", async () => {
    home = new IncomingSetting({ kind: "email", allow: [ROBOT.from], answersPerHour: 5 });
    let count = 0;
    for (let at = 0; at < 10; at += 1) if (await write("ticket")) count += 1;
    assert.equal(count, 5);
    assert.equal(await write("another"), true);
  });
});

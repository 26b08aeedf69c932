/** Yes and no to permission questions: each message answers at most one, also where the service delivers it again. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ChannelConfig } from "../../packages/core/src/config/config-types.ts";
import type { IncomingMessage } from "../../packages/contract/src/channel/channel.ts";
import type { PermissionAnswer } from "../../packages/contract/src/host/run.ts";
import { questionId } from "../../packages/inbox/src/approvals.ts";
import { CHANNEL, IncomingSetting } from "./incoming-setting.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";

const ANN = { from: "ann@example.org", name: "Ann" };
const BOB = { from: "bob@example.org", name: "Bob" };
const CREW = "crew@rooms.example.org";

describe("a yes or no in a channel", () => {
  let home: IncomingSetting;
  afterEach(() => home.remove());

  /** Ann's turn waits for a tool. */
  async function asking(config: ChannelConfig = {}, message: Partial<IncomingMessage> = {}): Promise<void> {
    home = new IncomingSetting({ kind: "xmpp", allow: [ANN.from, BOB.from], ...config });
    await home.receive({ ...ANN, text: "tidy up", ...message });
  }

  /** The oldest turn asks; the question waits to be sent, as the host queues it. */
  function ask(summary: string): Promise<PermissionAnswer> {
    const [work] = home.work;
    assert.ok(work);
    const { signal } = new AbortController();
    const question = { toolName: "shell", summary, cwd: "/" };
    const answer = home.approvals.ask(work, { ...question, signal });
    const place = home.store.placeOf(work.id);
    if (place) home.store.ask({ id: questionId(work, question), summary }, place, 4_000);
    return answer;
  }

  /** As `ask`, and the question is sent. */
  function askAndSend(summary: string): Promise<PermissionAnswer> {
    const answer = ask(summary);
    home.sent();
    return answer;
  }

  const openQuestions = async (): Promise<string[]> =>
    (await home.approvals.open()).map(({ question }) => question.summary);

  it("answers one question, and not the next one when it is delivered again", async () => {
    await asking();
    const first = askAndSend("ls");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.equal(await first, "once");
    void askAndSend("rm -r .");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.deepEqual(await openQuestions(), ["rm -r ."]);
    assert.equal(home.work.length, 1, "the repeat is no turn");
    await home.receive({ ...ANN, id: "n-1", text: "No." });
    assert.deepEqual(await openQuestions(), []);
  });

  it("answers its own question alone where a crash came between the answer and its record", async () => {
    await asking();
    const first = askAndSend("ls");
    const answer = home.approvals.answer.bind(home.approvals);
    // As a shared inbox: the record follows the answer, and the process ends in between.
    home.approvals.answer = async (...[id, what, by]) => {
      await answer(id, what, by);
      throw new Error("The process ended here.");
    };
    await assert.rejects(home.receive({ ...ANN, id: "y-1", text: "yes" }), /ended here/);
    assert.equal(await first, "once");
    home.approvals.answer = answer;
    void askAndSend("rm -r .");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.deepEqual(await openQuestions(), ["rm -r ."]);
    assert.equal(home.work.length, 1, "the repeat is no turn");
    await home.receive({ ...ANN, id: "y-2", text: "yes" });
    assert.deepEqual(await openQuestions(), []);
  });

  it("whose question is gone when it is delivered again answers nothing", async () => {
    await asking();
    void askAndSend("ls");
    const answer = home.approvals.answer.bind(home.approvals);
    home.approvals.answer = () => {
      throw new Error("The process ended here.");
    };
    await assert.rejects(home.receive({ ...ANN, id: "y-1", text: "yes" }), /ended here/);
    home.approvals.answer = answer;
    const [work] = home.work;
    assert.ok(work);
    await home.inbox.ended(work, { outcome: "aborted" });
    await home.inbox.forget(work);
    await home.receive({ ...ANN, text: "tidy up again" });
    void askAndSend("rm -r .");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.deepEqual(await openQuestions(), ["rm -r ."]);
    assert.equal(home.work.length, 1, "the repeat is no turn");
  });

  it("is a message as any other where nothing is asked, and answers no later question", async () => {
    await asking();
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    void askAndSend("ls");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.deepEqual(await openQuestions(), ["ls"]);
    assert.deepEqual(
      home.work.map(({ request }) => request.prompt),
      ["tidy up", "yes"],
    );
  });

  it("of a second client is a message as any other, so nothing that a person writes is lost", async () => {
    await asking();
    const first = askAndSend("ls");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    await home.receive({ ...ANN, id: "y-2", text: "yes" });
    assert.equal(await first, "once");
    assert.equal(home.work.length, 2);
  });

  it("of someone else in the same session does not answer", async () => {
    await asking({ session: "crew" });
    void askAndSend("ls");
    await home.receive({ ...BOB, text: "ok" });
    assert.deepEqual(await openQuestions(), ["ls"]);
    assert.equal(home.work.length, 2, "it is a message as any other");
    await home.receive({ from: "Ann@Example.org", text: "ok" });
    assert.deepEqual(await openQuestions(), []);
  });

  it("does not answer a question of a job or an API turn, which the channel was not asked", async () => {
    home = new IncomingSetting({ kind: "xmpp", allow: [ANN.from], session: "crew" });
    await home.inbox.post({
      agentId: "main",
      sessionKey: "crew",
      kind: "turn",
      request: { prompt: "deploy" },
      policy: "queue",
      origin: "job:1",
      authority: { ...OWNER, tokenId: "job" },
    });
    void ask("deploy");
    await home.receive({ ...ANN, text: "Ok." });
    assert.deepEqual(await openQuestions(), ["deploy"]);
    assert.equal(home.work.length, 2);
  });

  it("before the question is sent does not answer it; while it is being sent it does", async () => {
    await asking();
    void ask("ls");
    await home.receive({ ...ANN, text: "ok" });
    assert.deepEqual(await openQuestions(), ["ls"]);
    const next = home.store.nextOutgoing(CHANNEL);
    assert.ok(next);
    home.store.setOutgoing(next.message.id, "sending");
    await home.receive({ ...ANN, text: "ok" });
    assert.deepEqual(await openQuestions(), [], "a service may confirm it after the person has answered");
  });

  it("does not answer a question that the service has refused to deliver", async () => {
    await asking();
    void ask("ls");
    const next = home.store.nextOutgoing(CHANNEL);
    assert.ok(next);
    home.store.setOutgoing(next.message.id, "lost");
    await home.receive({ ...ANN, text: "ok" });
    assert.deepEqual(await openQuestions(), ["ls"]);
  });

  it("in a group counts from whoever may speak there, in the thread of the question alone", async () => {
    const groups = { [CREW]: { session: "crew" } };
    const inGroup = { group: CREW, isMention: true };
    await asking({ groups, session: "crew" }, { ...inGroup, thread: "1" });
    void askAndSend("ls");
    await home.receive({ ...BOB, ...inGroup, thread: "2", text: "yes" });
    await home.receive({ ...BOB, ...inGroup, text: "yes" });
    await home.receive({ ...BOB, text: "yes" });
    assert.deepEqual(await openQuestions(), ["ls"]);
    await home.receive({ ...BOB, ...inGroup, group: CREW.toUpperCase(), thread: "1", text: "yes" });
    assert.deepEqual(await openQuestions(), []);
  });

  it("answers the oldest question of its place, also where another place was asked before", async () => {
    await asking({ session: "crew" });
    void askAndSend("ls");
    await home.receive({ ...BOB, text: "tidy up too" });
    const [, second] = home.work;
    assert.ok(second);
    const question = { toolName: "shell", summary: "rm -r .", cwd: "/" };
    void home.approvals.ask(second, { ...question, signal: new AbortController().signal });
    const place = { channel: CHANNEL, address: BOB.from, isGroup: false };
    home.store.ask({ id: questionId(second, question), summary: question.summary }, place, 4_000);
    home.sent();
    await home.receive({ ...BOB, text: "no" });
    assert.deepEqual(await openQuestions(), ["ls"]);
  });
});

/** A yes or no is taken for the question that its writer saw: by its reply, by its number, or as the only one that it can mean. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { IncomingMessage } from "../../packages/contract/src/channel/channel.ts";
import type { PermissionAnswer } from "../../packages/contract/src/host/run.ts";
import { messageOfQuestion } from "../../packages/channels/src/asked-questions.ts";
import { questionId } from "../../packages/inbox/src/approvals.ts";
import { IncomingSetting } from "./incoming-setting.ts";

const ANN = { from: "ann@example.org", name: "Ann" };
const BOB = { from: "bob@example.org", name: "Bob" };
const EVE = { from: "eve@example.org", name: "Ann" };
const CREW = "crew@rooms.example.org";

interface Shown {
  /** Id of its message. */
  message: string;
  code: string;
  text: string;
  /** `open`, or the answer that it got. */
  state: PermissionAnswer | "open";
}

describe("an answer to a permission question", () => {
  let home: IncomingSetting;
  afterEach(() => home.remove());

  async function begin(more: Partial<IncomingMessage> = {}): Promise<void> {
    const groups = { [CREW]: { from: "all" as const } };
    home = new IncomingSetting({ kind: "xmpp", allow: [ANN.from, BOB.from], groups });
    await home.receive({ ...ANN, text: "tidy up", ...more });
  }

  /** The turn of a place asks, and the question is sent. */
  function ask(summary: string, at = 0): Shown {
    const work = home.work[at];
    assert.ok(work);
    const { signal } = new AbortController();
    const question = { toolName: "shell", summary, cwd: "/" };
    const id = questionId(work, question);
    const shown: Shown = { message: messageOfQuestion(id), code: "", text: "", state: "open" };
    void Promise.resolve(home.approvals.ask(work, { ...question, signal })).then((answer) => {
      shown.state = answer;
    });
    const place = home.store.placeOf(work.id);
    assert.ok(place);
    home.store.ask({ id, summary }, place, 4_000);
    shown.text = home.sent().at(-1)?.text ?? "";
    shown.code = home.store.questions.find(id)?.code ?? "";
    return shown;
  }

  const inGroup = { group: CREW, isMention: true };
  const answer = (message: Partial<IncomingMessage>): Promise<void> =>
    home.receive({ ...ANN, text: "yes", ...message });

  it("that replies to a question answers that one, and no other", async () => {
    await begin();
    const [first, second] = [ask("ls"), ask("rm -r .")];
    await answer({ replyTo: second.message });
    assert.deepEqual([first.state, second.state], ["open", "once"]);
    await answer({ replyTo: second.message });
    assert.equal(first.state, "open", "a second one to the same question answers no other");
    await answer({ replyTo: first.message, text: "no" });
    assert.equal(first.state, "deny");
    assert.deepEqual(
      home.sent().map(({ text }) => text),
      ["That question is not open any more: nothing was allowed or refused."],
    );
    assert.equal(home.work.length, 1, "none of them is a turn");
  });

  it("that has the number of a question answers that one, and no other", async () => {
    await begin();
    const [first, second] = [ask("ls"), ask("rm -r .")];
    assert.match(second.text, new RegExp(`question ${second.code}: "yes ${second.code}"`));
    await answer({ text: `Yes ${second.code}.` });
    assert.deepEqual([first.state, second.state], ["open", "once"]);
    await answer({ text: `no ${first.code}` });
    assert.equal(first.state, "deny");
  });

  const FORMS: [string, (open: Shown, closed: Shown) => Partial<IncomingMessage>][] = [
    ["replies to a closed question", (_, closed) => ({ replyTo: closed.message })],
    ["replies to another message of ours", () => ({ replyTo: "w-1-0" })],
    ["replies to a message of someone else", () => ({ replyTo: "<some-id@elsewhere.example>" })],
    ["replies to nothing that can be named", () => ({ replyTo: "" })],
    ["has the number of a closed question", (_, closed) => ({ text: `yes ${closed.code}` })],
    ["has a number of no question", () => ({ text: "yes 7" })],
    [
      "replies to one and has the number of another",
      (open, { code }) => ({
        replyTo: open.message,
        text: `yes ${code}`,
      }),
    ],
    ["corrects an older message", () => ({ form: "correction" })],
    ["corrects an older message and replies", ({ message }) => ({ form: "correction", replyTo: message })],
    [
      "corrects an older message and has the number",
      ({ code }) => ({ form: "correction", text: `yes ${code}` }),
    ],
    ["is forwarded", () => ({ form: "forwarded" })],
    ["is forwarded as a reply", ({ message }) => ({ form: "forwarded", replyTo: message })],
    ["is plain where two were shown since the last answer", () => ({})],
    ["was written before the question was shown", () => ({ writtenAt: Date.now() - 60_000 })],
    ["quotes the question above it", ({ text }) => ({ text: `> ${text}\nyes` })],
    ["has more words", () => ({ text: "yes, and then rm -r ." })],
    ["comes from someone else", ({ message }) => ({ ...BOB, replyTo: message })],
    ["comes from a stranger", ({ message }) => ({ ...EVE, replyTo: message })],
    ["has the number and comes from someone else", ({ code }) => ({ ...BOB, text: `yes ${code}` })],
    ["comes from a group", ({ message }) => ({ ...inGroup, replyTo: message })],
  ];
  for (const [form, message] of FORMS)
    it(`allows nothing where it ${form}`, async () => {
      await begin();
      const closed = ask("ls");
      // Answered elsewhere, such as in a terminal.
      const [{ id } = { id: "" }] = await home.approvals.open();
      await home.approvals.answer(id, "deny", "terminal");
      const open = ask("rm -r .");
      await answer(message(open, closed));
      assert.equal(open.state, "open");
      await answer({ text: `no ${open.code}` });
      assert.equal(open.state, "deny", "its number answers it");
    });

  it("without a reply or a number counts where it can mean one question alone", async () => {
    await begin();
    const first = ask("ls");
    await answer({});
    assert.equal(first.state, "once");
    const second = ask("cat log");
    await answer({});
    assert.equal(second.state, "once", "the first one was answered by the same person");
    const [third, fourth] = [ask("rm a"), ask("rm b")];
    await answer({});
    assert.deepEqual([third.state, fourth.state], ["open", "open"]);
    assert.match(home.sent().at(-1)?.text ?? "", /does not say which question it means/);
    await answer({ text: `yes ${third.code}` });
    await answer({});
    assert.deepEqual([third.state, fourth.state], ["once", "once"], "no other is open then");
  });

  it("in a group counts without the name of the agent, from who may speak, while a question is open", async () => {
    await begin(inGroup);
    const bare = { group: CREW, isMention: false };
    const question = ask("ls");
    await answer({ ...EVE, ...bare });
    await answer({ ...EVE, ...bare, replyTo: question.message });
    await answer({ ...bare, replyTo: "an-id-of-bob" });
    await answer({ ...bare, form: "correction" });
    await answer({ ...bare, form: "forwarded" });
    assert.equal(question.state, "open");
    assert.deepEqual(home.sent(), [], "what people say to each other gets no answer");
    await answer({ ...BOB, ...bare });
    assert.equal(question.state, "once");
    await answer({ ...bare, text: "no" });
    assert.equal(home.work.length, 1, "without a question it is no turn");
    const second = ask("rm -r .");
    await answer({ ...ANN, ...bare });
    assert.equal(second.state, "open", "Ann has seen two and answered neither");
    await answer({ ...ANN, ...bare, text: `no ${second.code}` });
    assert.equal(second.state, "deny");
  });

  it("allows nothing where the question had no space for the whole", async () => {
    await begin();
    const question = ask(`echo ${"x".repeat(5_000)}; rm -r .`);
    assert.match(question.text, /more characters have no space here/);
    assert.ok(question.text.length <= 4_000);
    await answer({});
    await answer({ replyTo: question.message });
    await answer({ text: `yes ${question.code}` });
    assert.equal(question.state, "open");
    await answer({ text: `no ${question.code}` });
    assert.equal(question.state, "deny");
  });

  it("allows nothing where the question is not the one that was shown", async () => {
    await begin();
    const question = ask("ls");
    const open = home.approvals.open.bind(home.approvals);
    home.approvals.open = async () =>
      (await open()).map((each) => ({ ...each, question: { ...each.question, summary: "rm -r ." } }));
    await answer({ replyTo: question.message });
    await answer({});
    assert.equal(question.state, "open");
  });
});

/** Yes and no to permission questions: each message answers at most one, also where the service delivers it again. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { PermissionAnswer } from "../../src/contract/host/run.ts";
import { IncomingSetting } from "./incoming-setting.ts";

const ANN = { from: "ann@example.org", name: "Ann" };

describe("a yes or no in a channel", () => {
  let home: IncomingSetting;
  afterEach(() => home.remove());

  /** Ann's turn waits for a tool. */
  async function asking(): Promise<void> {
    home = new IncomingSetting({ kind: "xmpp", allow: [ANN.from] });
    await home.receive({ ...ANN, text: "tidy up" });
  }

  function ask(summary: string): Promise<PermissionAnswer> {
    const [work] = home.work;
    assert.ok(work);
    const { signal } = new AbortController();
    return home.approvals.ask(work, { toolName: "shell", summary, cwd: "/", signal });
  }

  const openQuestions = async (): Promise<string[]> =>
    (await home.approvals.open()).map(({ question }) => question.summary);

  it("answers one question, and not the next one when it is delivered again", async () => {
    await asking();
    const first = ask("ls");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.equal(await first, "once");
    void ask("rm -r .");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.deepEqual(await openQuestions(), ["rm -r ."]);
    assert.equal(home.work.length, 1, "the repeat is no turn");
    await home.receive({ ...ANN, id: "n-1", text: "No." });
    assert.deepEqual(await openQuestions(), []);
  });

  it("is a message as any other where nothing is asked, and answers no later question", async () => {
    await asking();
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    void ask("ls");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    assert.deepEqual(await openQuestions(), ["ls"]);
    assert.deepEqual(
      home.work.map(({ request }) => request.prompt),
      ["tidy up", "yes"],
    );
  });

  it("of a second client is a message as any other, so nothing that a person writes is lost", async () => {
    await asking();
    const first = ask("ls");
    await home.receive({ ...ANN, id: "y-1", text: "yes" });
    await home.receive({ ...ANN, id: "y-2", text: "yes" });
    assert.equal(await first, "once");
    assert.equal(home.work.length, 2);
  });
});

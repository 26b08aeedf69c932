/** Injected fragments keep their place until a compaction drops them from the context; then they are sent again. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ReplyScript } from "../../servers/server.ts";
import { context, FragmentBench } from "./fragment-bench.ts";

const A = context({ a: ["application", "one"], b: ["untrusted", "two"] });
const SENT = ["system:<a>one</a>", "user:<external_b>two</external_b>"];
const LONG = "The ferry to the north island leaves from pier four at seven in the morning. ".repeat(30);

function fragmentsIn(items: readonly string[]): string[] {
  return items.filter((item) => /^(system|user):<(a|external_b)>/.test(item));
}

const TALKS: ReplyScript = (_request, index) => ({ text: `answer ${index} ${LONG}` });
/** Every second request calls a tool. */
const WORKS: ReplyScript = (_request, index) =>
  index % 2 === 0
    ? { toolCalls: [{ id: `c${index}`, name: "glob", arguments: { pattern: "*" } }] }
    : { text: `answer ${index}` };

for (const engine of ["legacy", "lossless"] as const) {
  describe(`fragments under ${engine}`, () => {
    let bench: FragmentBench;
    afterEach(() => bench.end());

    it("keep their place, so that every request begins with the one before it", async () => {
      bench = await FragmentBench.open(WORKS);
      const pagurus = await bench.start(engine);
      await bench.say(pagurus, "1", A);
      await bench.say(pagurus, "2", A);
      await bench.say(pagurus, "3", context({ a: ["application", "other"] }));
      await bench.say(pagurus, "4", A);
      await bench.say(pagurus, "5");
      bench.assertGrows(0, 9);
      assert.deepEqual(fragmentsIn(bench.items(9)), [...SENT, "system:<a>other</a>", ...SENT]);
    });

    it("are sent again after /compact, once, and only while they are named", async () => {
      bench = await FragmentBench.open(TALKS);
      const pagurus = await bench.start(engine);
      for (const prompt of ["1", "2", "3", "4"]) await bench.say(pagurus, prompt, A);
      assert.deepEqual(fragmentsIn(bench.items(-1)), SENT);
      const report = await pagurus.compact({ cwd: bench.root });
      assert.equal(report.compacted, true, report.reason);
      const { length } = bench.requests();
      await bench.say(pagurus, "5", A);
      assert.deepEqual(fragmentsIn(bench.items(-1)), SENT);
      assert.deepEqual(bench.items(-1).slice(-3), [...SENT, "user:5"]);
      await bench.say(pagurus, "6", A);
      bench.assertGrows(length, length + 1);
      assert.deepEqual(fragmentsIn(bench.items(-1)), SENT);
      assert.equal((await pagurus.compact({ cwd: bench.root })).compacted, true);
      await bench.say(pagurus, "7");
      assert.deepEqual(fragmentsIn(bench.items(-1)), []);
    });

    it("are sent again in the turn that compacts", async () => {
      let refused = false;
      bench = await FragmentBench.open((request) => {
        const isFifth = JSON.stringify(request.body).includes('"5"');
        if (!isFifth || refused) return { text: `answer ${LONG}` };
        refused = true;
        return {
          status: 400,
          errorBody: { error: { code: "context_length_exceeded", message: "too long" } },
        };
      });
      const pagurus = await bench.start(engine);
      for (const prompt of ["1", "2", "3", "4", "5"]) await bench.say(pagurus, prompt, A);
      assert.deepEqual(fragmentsIn(bench.items(4)), SENT);
      const last = bench.items(-1);
      assert.notEqual(last.length, bench.items(4).length);
      assert.deepEqual(last.slice(-3), [...SENT, "user:5"]);
      await bench.say(pagurus, "6", A);
      const { length } = bench.requests();
      bench.assertGrows(length - 2, length - 1);
    });

    it("are known after a restart and in a fork, and forgotten where a rewind removed them", async () => {
      bench = await FragmentBench.open();
      const first = await bench.start(engine);
      await bench.say(first, "0");
      await bench.say(first, "1", A);
      await bench.say(first, "2", A);
      const store = first.sessions();
      await store.fork("main", "other");
      await first.close();
      const pagurus = await bench.start(engine);
      await bench.say(pagurus, "3", A);
      await bench.say(pagurus, "4", A, "other");
      bench.assertGrows(0, 3);
      assert.deepEqual(bench.items(4).slice(0, -1), bench.items(3).slice(0, -1));
      const input = (await bench.entries(pagurus)).find(
        (entry) => entry.type === "message" && JSON.stringify(entry.message.content).includes('"1"'),
      );
      const before = (await bench.entries(pagurus)).find((entry) => entry.type === "turn_commit");
      assert.ok(input && before);
      const writer = pagurus.sessions().openWriter("main", { cwd: bench.root });
      writer.rewind(before.id);
      writer.close();
      await bench.say(pagurus, "1 again", A);
      assert.deepEqual(bench.items(-1), ["user:0", "assistant:answer 0", ...SENT, "user:1 again"]);
      const end = pagurus.sessions().openWriter("main", { cwd: bench.root });
      end.rewind(input.id);
      end.close();
      await bench.say(pagurus, "more", A);
      assert.deepEqual(bench.items(-1), ["user:0", "assistant:answer 0", ...SENT, "user:1", "user:more"]);
    });

    it("are no user text: no title, no hit, no line of the conversation, nothing an engine stores", async () => {
      bench = await FragmentBench.open();
      const pagurus = await bench.start(engine);
      const odd = context({ tab: ["untrusted", "zebrafish"], rule: ["application", "quokka"] });
      await bench.say(pagurus, "plain words", odd);
      await bench.say(pagurus, "more words", odd);
      assert.equal(bench.items(1).filter((item) => /zebrafish|quokka/.test(item)).length, 2);
      const hits = ["zebrafish", "quokka"].flatMap((word) => pagurus.sessions().search(word));
      assert.deepEqual(hits, []);
      const messages = (await bench.entries(pagurus)).filter(({ type }) => type !== "custom");
      assert.ok(!/zebrafish|quokka/.test(JSON.stringify(messages)));
      const report = await pagurus.compact({ cwd: bench.root });
      assert.ok(!/zebrafish|quokka/.test(JSON.stringify(report)));
      const [receipt] = await pagurus.context.receipts({});
      assert.ok(receipt);
      const parts = receipt.parts.filter(({ source }) => source === "fragment");
      assert.deepEqual(
        parts.map(({ role, tokens, entryId }) => [role, tokens > 0, typeof entryId]),
        [
          ["system", true, "string"],
          ["user", true, "string"],
        ],
      );
    });
  });
}

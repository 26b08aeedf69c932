/**
 * The engine's tools for the model of a wrapped program: text that a compaction removed from its context is read again,
 * verbatim.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { WrapRun, type Ended } from "./wrap-bench.ts";

const SECRET = "The harbour master keeps a green parrot.";
const SUMMARY = "The agent has told of the harbour master.";

interface Program {
  name: string;
  protocol: "openai-responses" | "anthropic-messages";
  /** The program's name of the tool. */
  tool: { name: string; namespace?: string };
  turn(run: WrapRun, nth: number, words: string): Promise<Ended>;
  /** How the program lists tools whose schemas are not loaded. */
  announced: RegExp;
}

const PROGRAMS: readonly Program[] = [
  {
    name: "Codex",
    protocol: "openai-responses",
    tool: { name: "context_search", namespace: "mcp__pagurus" },
    turn: (run, _nth, words) => run.codex({ session: "recall" }, "exec", "--skip-git-repo-check", words),
    announced: /"tool_search"/,
  },
  {
    name: "Claude Code",
    protocol: "anthropic-messages",
    tool: { name: "mcp__pagurus__context_search" },
    turn: (run, nth, words) => run.claude({ session: "recall" }, ...(nth > 0 ? ["-c"] : []), "-p", words),
    announced: /mcp__pagurus__context_search/,
  },
];

const isSummary = ({ text }: RecordedRequest): boolean => text.includes("<transcript>");

for (const { name, protocol, tool, turn, announced } of PROGRAMS)
  describe(`the engine's tools for ${name} under pagurus wire`, { timeout: 240_000 }, () => {
    let run: WrapRun;
    let script: (request: RecordedRequest) => ReplyStep = () => ({ text: "Fine." });
    before(async () => {
      run = await WrapRun.with(protocol, (request) =>
        isSummary(request) ? { text: SUMMARY } : script(request),
      );
      run.setCodex();
      const lossless = { config: { trigger: 12_000 } };
      mkdirSync(run.home, { recursive: true });
      writeFileSync(
        join(run.home, "pagurus.json"),
        JSON.stringify({ plugins: { slots: { contextEngine: "lossless" }, entries: { lossless } } }),
      );
    });
    after(() => run.end());

    it("give its model the text that a compaction removed from its context", async () => {
      // Kept anyway: the user's messages, the beginning of each line of an answer, and what looks like a name.
      const words = "word ".repeat(3_000);
      script = ({ text }) => ({ text: `${words} ${text.includes("And then?") ? "" : SECRET} ${words}` });
      const questions = ["Who keeps a bird?", "And then?", "And after that?", "Which way?"];
      for (const [nth, words] of questions.entries())
        assert.equal((await turn(run, nth, words)).code, 0, words);
      const from = run.server.requests.length;
      let asked = false;
      script = () => {
        if (asked) return { text: "It is a parrot." };
        asked = true;
        return { toolCalls: [{ id: "call_recall", ...tool, arguments: { query: "harbour master" } }] };
      };
      const ended = await turn(run, questions.length, "What was it that you told me first?");
      assert.deepEqual([ended.code, ended.stdout.trim()], [0, "It is a parrot."]);
      const main = run.server.requests.slice(from).filter((request) => !isSummary(request));
      const [first = "", second = ""] = main.map(({ text }) => text);
      assert.equal(main.length, 2);
      assert.ok(!first.includes("green parrot"), "the words are out of its sight");
      assert.match(first, announced);
      assert.match(second, /green parrot/);
      const messages = await run.transcript("recall");
      const result = messages.find((message) => message.role === "toolResult");
      assert.ok(result?.role === "toolResult" && !result.isError);
      assert.match(JSON.stringify(result.content), /green parrot/);
    });

    if (name !== "Codex") return;
    it("are offered in addition to a server of its user's that has their name", async () => {
      run.setCodex('[mcp_servers.pagurus]\nurl = "http://127.0.0.1:1/mcp"\nenabled = false');
      let asked = false;
      const beside = { ...tool, namespace: "mcp__pagurus_wire", arguments: { query: "harbour master" } };
      script = () => {
        if (asked) return { text: "A parrot." };
        asked = true;
        return { toolCalls: [{ id: "call_beside", ...beside }] };
      };
      const ended = await turn(run, 1, "Once more: what was it?");
      assert.deepEqual([ended.code, ended.stdout.trim()], [0, "A parrot."]);
      assert.match(
        run.server.requests.findLast((request) => !isSummary(request))?.text ?? "",
        /call_beside[^]*green parrot/,
      );
    });
  });

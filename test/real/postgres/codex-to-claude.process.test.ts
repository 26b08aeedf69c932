/**
 * A session that the real Codex began on one host, which is killed in a turn, and that the real Claude Code continues on another: each word
 * is once in every request to a model, and once in the transcript.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { makeSetting } from "../../turn/setting.ts";
import { ClaudeBench, conversation as messagesOf } from "../claude/claude-bench.ts";
import { CodexBench } from "../codex/codex-bench.ts";
import { newTables } from "./hosts.ts";
import { until } from "../../runner/until.ts";

const LEASE_S = 5;
const WINDOW = { slot: "lossless", contextWindow: 200_000 };

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

interface Hosts {
  /** Runs Codex. */
  a: ServeProcess;
  /** Starts the host that runs Claude Code. Any host takes any work, so it starts once the other is dead. */
  startB: () => Promise<ServeProcess>;
  codex: CodexBench;
  claude: ClaudeBench;
  schema: string;
}

/** Two hosts with homes of their own. */
async function twoHosts(t: TestContext, script: (index: number) => ReplyStep): Promise<Hosts> {
  const { schema = "" } = await newTables(database.url);
  const codex = await CodexBench.with((_request, index) => script(index));
  const claude = await ClaudeBench.with((_request, index) => ({ text: `claude-answer-${index}.` }));
  const store = { kind: "postgres", url: database.url, schema, lease: LEASE_S };
  const started: ServeProcess[] = [];
  t.after(async () => {
    for (const host of started) {
      await host.kill();
      host.setting.remove();
    }
    await codex.end();
    await claude.end();
  });
  const startHost = async (config: object): Promise<ServeProcess> => {
    const host = await ServeProcess.start(makeSetting({ ...config, store }));
    started.push(host);
    return host;
  };
  const a = await startHost(codex.config(WINDOW));
  return { a, startB: () => startHost(claude.config(WINDOW)), codex, claude, schema };
}

async function post(host: ServeProcess, prompt: string): Promise<string> {
  const answer = await host.call("POST", "/api/v1/sessions/talk/turns", { prompt });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return String(answer.body["id"]);
}

async function completed(host: ServeProcess, work: string): Promise<void> {
  const ended = await host.ended(work);
  assert.equal(ended["outcome"], "completed", `${JSON.stringify(ended)} ${host.stderr}`);
}

/** How often each text occurs; only what is not there once. */
function notOnce(text: string, words: readonly string[]): string[] {
  return words.flatMap((word) => {
    const count = text.split(word).length - 1;
    return count === 1 ? [] : [`${word} ${count} times`];
  });
}

/** The requests of the conversation: Claude Code also asks for titles, without tools. */
function main(requests: readonly RecordedRequest[]): RecordedRequest[] {
  return requests.filter(({ body }) => Array.isArray(body["tools"]) && body["tools"].length > 0);
}

/** The bytes of the transcript in the database. */
async function transcript(schema: string): Promise<string> {
  const rows = await database.query<{ bytes: Buffer }>(`select bytes from ${schema}.chunks order by at`);
  return Buffer.concat(rows.map(({ bytes }) => bytes)).toString("utf8");
}

interface Killed extends Hosts {
  /** The turn in which A was killed. */
  open: string;
  /** Texts of the conversation in their order, of which each is in the next request once, and in the transcript. */
  words: readonly string[];
}

/** B ends the turn as interrupted, and answers two more prompts on Claude Code. */
async function continueOnB({ a, startB, codex, claude, schema, open, words }: Killed): Promise<string[][]> {
  await a.kill();
  const b = await startB();
  const ended = await b.ended(open);
  assert.equal(ended["outcome"], "interrupted", JSON.stringify(ended));
  await completed(b, await post(b, "prompt-three?"));
  await completed(b, await post(b, "prompt-four?"));
  const requests = main(claude.server.requests);
  assert.equal(requests.length, 2, "no model call is repeated");
  const after = ["prompt-three?", "claude-answer-0.", "prompt-four?"];
  for (const [at, { text }] of requests.entries()) {
    assert.deepEqual(notOnce(text, [...words, ...after.slice(0, at * 2 + 1)]), [], `Messages, request ${at}`);
    assert.doesNotMatch(text, /half-answer/);
  }
  for (const [at, { text }] of codex.server.requests.entries()) {
    const known = words.filter((word) => text.includes(word));
    assert.deepEqual(notOnce(text, known), [], `Responses, request ${at}`);
    assert.deepEqual(known, words.slice(0, known.length), `Responses, request ${at}, in order`);
  }
  const stored = await transcript(schema);
  assert.deepEqual(notOnce(stored, [...words, ...after, "claude-answer-1."]), [], "the transcript");
  const commits = stored
    .split("\n")
    .filter((line) => line.includes('"type":"turn_commit"'))
    .map((line) => JSON.parse(line) as { turnId: string; outcome: string });
  assert.deepEqual(
    commits.map(({ outcome }) => outcome),
    ["completed", "interrupted", "completed", "completed"],
  );
  assert.equal(commits[1]?.turnId, open, "the turn that was killed is the one that is marked");
  return requests.map(messagesOf);
}

test("a turn killed while its answer is held open is marked, and Claude Code knows each word once", async (t) => {
  const half: ReplyStep = { text: "half-answer, which never ends.", hangAfterChunks: 8, chunkSize: 6 };
  const hosts = await twoHosts(t, (index) => (index === 0 ? { text: "codex-answer-0." } : half));
  const { a } = hosts;
  await completed(a, await post(a, "prompt-one?"));
  const open = await post(a, "prompt-two?");
  await a.events(`/api/v1/work/${open}/events`, ({ type }) => type === "text.delta");
  const words = ["prompt-one?", "codex-answer-0.", "prompt-two?"];
  const asked = await continueOnB({ ...hosts, open, words });
  const past = ["user: prompt-one?", "assistant: codex-answer-0.", "user: prompt-two?"];
  assert.deepEqual(asked, [
    [...past, "user: prompt-three?"],
    [...past, "user: prompt-three?", "assistant: claude-answer-0.", "user: prompt-four?"],
  ]);
});

test("a call whose result was recorded before the kill is not made again, and Claude Code knows each word once", async (t) => {
  const held: ReplyStep = { hangAfterChunks: 0 };
  // The shell puts the result together, so that the call does not contain its words.
  const cmd = "echo run >> runs; echo re''sult-one";
  const replies: ReplyStep[] = [
    { text: "codex-answer-0." },
    { text: "codex-looks.", toolCalls: [{ id: "call_1", name: "exec_command", arguments: { cmd } }] },
  ];
  const hosts = await twoHosts(t, (index) => replies[index] ?? held);
  const { a, codex, schema } = hosts;
  await completed(a, await post(a, "prompt-one?"));
  const open = await post(a, "prompt-two?");
  await until(
    async () => codex.server.requests.length === 3 && (await transcript(schema)).includes("result-one"),
  );
  const words = [
    "prompt-one?",
    "codex-answer-0.",
    "prompt-two?",
    "codex-looks.",
    "re''sult-one",
    "result-one",
  ];
  const asked = await continueOnB({ ...hosts, open, words });
  const past = [
    "user: prompt-one?",
    "assistant: codex-answer-0.",
    "user: prompt-two?",
    "assistant: codex-looks.",
    "call exec_command call_1",
    "result call_1 result-one\n",
    "user: prompt-three?",
  ];
  // Codex puts times before the output of a command.
  const lines = asked.map((request) =>
    request.map((line) => line.replace(/(?<=^result \w+ )[^]*Output:\n/, "")),
  );
  assert.deepEqual(lines, [past, [...past, "assistant: claude-answer-0.", "user: prompt-four?"]]);
  assert.equal(readFileSync(join(a.setting.workspace, "runs"), "utf8"), "run\n");
});

/** A home in which a session left its words in every place that keeps words, and the parts of tests that look for them. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import assert from "node:assert/strict";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { LocalEvents } from "../../packages/inbox/src/local-events.ts";
import { LocalInbox } from "../../packages/inbox/src/local-inbox.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";
import { ApiBench } from "../model-api/setting.ts";

/** Rare words that only the deleted session has; different from the first letter on, as an index keeps differences. */
export const WORDS = ["xylophonequartz", "jackdawsphinx", "密码保险箱", "vexedwaltzing"] as const;
/** A word of the part that a fork has, too. */
export const FORKED_WORD = "gloomyfjords";
/** A word of another session. */
export const OTHER_WORD = "boxingwizards";
export const KEY = "secret";
const SENTENCE = `the ${WORDS.join(" and ")} are ours`;

/** Every file below a folder. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Places of words below a folder, as bytes, also in parts of databases that are not used any more. */
export function traces(folder: string, words: readonly string[] = WORDS): string[] {
  return filesBelow(folder).flatMap((file) => {
    const bytes = readFileSync(file);
    return words
      .filter((word) => bytes.includes(word) || bytes.includes(word.slice(0, 9)))
      .map((word) => `${word} in ${file.slice(folder.length)}`);
  });
}

export async function say(pagurus: Pagurus, prompt: string, sessionKey: string, cwd: string): Promise<void> {
  let last = "";
  for await (const event of pagurus.run({ prompt, sessionKey, cwd }))
    last = event.type === "turn.failed" ? event.error.message : event.type;
  assert.equal(last, "turn.completed");
}

/** Opens a host over a home with all of it. The model answers with the words of the request's last message. */
export async function filledBench(): Promise<ApiBench> {
  const bench = await ApiBench.open(
    "openai-completions",
    ({ body }) => ({ text: `Answer: ${lastWords(body)}` }),
    {},
    "lossless",
  );
  const { home, workspace } = bench.setting;
  bench.setting.env["PAGURUS_CAPTURE"] = "1";
  await bench.stop();
  await bench.start();
  const { pagurus } = bench;
  await say(pagurus, `Begin with ${FORKED_WORD}.`, KEY, workspace);
  const store = pagurus.sessions();
  await store.fork(KEY, "copy");
  await say(pagurus, SENTENCE, KEY, workspace);
  await pagurus.compact({ sessionKey: KEY, cwd: workspace });
  await pagurus.renew({ sessionKey: KEY, reason: "new", cwd: workspace });
  for (let turn = 0; turn < 3; turn += 1) await say(pagurus, `${SENTENCE} ${turn}`, KEY, workspace);
  await say(pagurus, `Go on with ${OTHER_WORD}.`, "copy", workspace);
  const child = await pagurus.spawn({ parentSessionKey: KEY, task: SENTENCE, cwd: workspace });
  await child.ended;
  const headers = { "x-pagurus-session": KEY };
  const asked = { model: "test/model", input: SENTENCE, store: true };
  const answer = await bench.post("/responses", asked, headers);
  assert.equal(answer.status, 200, answer.text);
  await bench.stop();
  fillServer(home);
  const record = (await opened(bench)).at(0) ?? "";
  const beside = (suffix: string): string => record.replace(/\.jsonl$/, suffix);
  mkdirSync(beside(".results"));
  writeFileSync(join(beside(".results"), "1.txt"), SENTENCE);
  writeFileSync(beside(".jsonl.torn"), SENTENCE);
  mkdirSync(beside(".mirror"));
  writeFileSync(join(beside(".mirror"), "copy.jsonl"), SENTENCE);
  return bench;
}

/** Files of the key's transcripts. */
async function opened(bench: ApiBench): Promise<string[]> {
  await bench.start();
  const files = bench.pagurus
    .sessions()
    .list()
    .filter(({ sessionKey }) => sessionKey === KEY)
    .map(({ file }) => file);
  await bench.stop();
  return files;
}

/** Work, events, a question and an answer to a person, as a server leaves them. */
function fillServer(home: string): void {
  mkdirSync(join(home, "server"), { recursive: true });
  const db = openServerDatabase(home);
  const events = new LocalEvents(db);
  const inbox = new LocalInbox({ db, events });
  const channels = new ChannelStore(db);
  const place = { channel: "phone", address: "someone", isGroup: false };
  const now = Date.now();
  for (const state of ["ended", "running"]) {
    db.run(
      `INSERT INTO work (id, agent, session, kind, request, policy, origin, token, digest, authority, state, posted, started)
       VALUES (?, 'main', ?, 'turn', ?, 'queue', 'api', 'one', '', ?, ?, ?, ?)`,
      `work-${state}`,
      KEY,
      JSON.stringify({ prompt: SENTENCE }),
      JSON.stringify(OWNER),
      state,
      now,
      now,
    );
    events.add({
      agentId: "main",
      sessionKey: KEY,
      workId: `work-${state}`,
      type: "message",
      data: { text: SENTENCE },
    });
  }
  events.flush();
  db.run("INSERT INTO channel_work VALUES ('work-ended', 'phone', 'someone', 0, 0, NULL, NULL, ?)", now);
  const attachment = { name: "a.txt", mimeType: "text/plain", bytes: Buffer.from(SENTENCE) };
  channels.answer("work-ended", place, [{ text: SENTENCE }, { text: SENTENCE, attachment }]);
  inbox.close();
  db.close();
}

function lastWords(body: unknown): string {
  const { messages = [] } = body as { messages?: { content?: unknown }[] };
  return JSON.stringify(messages.at(-1)?.content ?? "").slice(0, 500);
}

export function folderOf(home: string): string {
  return dirname(home);
}

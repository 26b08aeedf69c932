/** What the new version makes of a session of the old one: prints it, continues it, compacts it. */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../packages/core/src/data/record-fields.ts";
import type { RecordedRequest } from "../../test/servers/server.ts";
import type { Checks } from "./checks.ts";
import { conversationOf } from "./endpoint.ts";
import { recordOf, SHOW, type OldSession } from "./old-session.ts";

/** Values of the old version in today's words. */
const SEAMS: Record<string, string> = { native: "embedded" };
const LANES: Record<string, string> = { native: "harness" };

/** Output of the old version with the values that were renamed since. */
function inTodaysWords(value: unknown): unknown {
  if (Array.isArray(value)) return (value as unknown[]).map(inTodaysWords);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (key === "seam" && typeof each === "string") return [key, SEAMS[each] ?? each];
      if (key === "lane" && typeof each === "string") return [key, LANES[each] ?? each];
      return [key, inTodaysWords(each)];
    }),
  );
}

async function checkOutput(checks: Checks, session: OldSession): Promise<void> {
  const { user, key, record } = session;
  const name = `${user.title}/${key}`;
  const list = recordOf((await user.now(...SHOW.list)).stdout, key) ?? {};
  const kept = Object.fromEntries(Object.keys(record).map((field) => [field, list[field]]));
  checks.equal(`${name}: sessions list has the old record`, kept, record);
  checks.equal(
    `${name}: sessions show prints each old entry`,
    (await user.now(...SHOW.shown(key))).stdout,
    session.shown,
  );
  checks.equal(
    `${name}: sessions search finds the same words`,
    (await user.now(...SHOW.found(key))).stdout,
    session.found,
  );
  const receipts = (await user.now(...SHOW.receipts(key))).stdout;
  const isKnown = receipts.startsWith("[") && session.receipts.startsWith("[");
  checks.check(`${name}: context show prints the old receipts`, isKnown, receipts);
  if (isKnown)
    checks.equal(
      `${name}: receipts have the old values, in today's words`,
      JSON.parse(receipts),
      inTodaysWords(JSON.parse(session.receipts)),
    );
}

async function checkStatus(checks: Checks, session: OldSession): Promise<void> {
  const { user, key, status, compactions = 0 } = session;
  const name = `${user.title}/${key}`;
  const { code, stdout, stderr } = await user.now(...SHOW.status(key));
  checks.check(`${name}: status succeeds`, code === 0 && stdout.startsWith("{"), stderr);
  if (code !== 0) return;
  const now = JSON.parse(stdout) as Record<string, unknown>;
  for (const field of ["sessionId", "entries", "model", "runtime", "compactionsBy", "lastTurn"])
    if (status[field] !== undefined)
      checks.equal(`${name}: status has the old ${field}`, now[field], inTodaysWords(status[field]));
  const counts = Array.isArray(now["compactionsBy"]) ? (now["compactionsBy"] as { count: number }[]) : [];
  const count = counts.reduce((sum, each) => sum + each.count, 0);
  checks.check(
    `${name}: status counts the old compactions`,
    count >= compactions,
    `${count} of ${compactions}`,
  );
}

/** The old conversation is at the beginning of the request, message by message. */
function checkPrefix(checks: Checks, name: string, now: RecordedRequest, old: RecordedRequest): void {
  const before = conversationOf(old);
  const after = conversationOf(now).slice(0, before.length);
  const at = before.findIndex((message, index) => !isDeepStrictEqual(message, after[index]));
  const detail = `message ${at}\nold: ${JSON.stringify(before[at])}\nnow: ${JSON.stringify(after[at])}`;
  checks.check(
    `${name}: the request begins with the old request's ${before.length} messages`,
    at === -1,
    detail,
  );
}

function newestTurn(requests: readonly RecordedRequest[]): RecordedRequest | undefined {
  return requests.findLast(({ body }) => body["tools"] !== undefined);
}

/** A further turn; its first request. */
async function continueTurn(
  checks: Checks,
  session: OldSession,
  prompt: string,
): Promise<RecordedRequest | undefined> {
  const { user, key, options = [] } = session;
  const name = `${user.title}/${key}`;
  const begun = user.server.requests.length;
  const { code, stdout, stderr } = await user.now("run", "-s", key, ...options, prompt);
  checks.check(`${name}: run continues (${prompt})`, code === 0 && stdout.trim() !== "", stderr + stdout);
  const request = newestTurn(user.server.requests.slice(begun));
  if (session.lastRequest === undefined) {
    // The runtime answers with the context that it got.
    for (const text of [...session.turns, ...session.answers.map((answer) => answer.slice(0, 20)), prompt])
      checks.check(
        `${name}: the context holds ${JSON.stringify(text.slice(0, 40))}`,
        stdout.includes(JSON.stringify(text).slice(1, -1)),
        stdout,
      );
    return undefined;
  }
  checks.check(`${name}: the endpoint is asked`, request !== undefined);
  return request;
}

async function checkContinued(checks: Checks, session: OldSession): Promise<void> {
  const { user, key, lastRequest, answers } = session;
  const name = `${user.title}/${key}`;
  const prompt = "Now the new version asks: who came last?";
  const request = await continueTurn(checks, session, prompt);
  if (!request || !lastRequest) return;
  if (!session.thread) checkPrefix(checks, name, request, lastRequest);
  const sent = JSON.stringify(conversationOf(request));
  const expected = session.thread ? [...session.turns, ...answers] : [answers.at(-1) ?? ""];
  const missing = [...expected, prompt].filter((text) => !sent.includes(JSON.stringify(text).slice(1, -1)));
  checks.equal(`${name}: the request holds the texts of the old turns and the prompt`, missing, []);
}

function checkFiles(checks: Checks, session: OldSession): void {
  const { user, key, record, transcript, receiptLog } = session;
  const file = String(record["file"]);
  const begins = (path: string, old: Buffer): boolean =>
    readFileSync(path).subarray(0, old.length).equals(old);
  checks.check(`${user.title}/${key}: the transcript begins with its old bytes`, begins(file, transcript));
  const receipts = file.replace(/\.jsonl$/, ".receipts.jsonl");
  checks.check(`${user.title}/${key}: the receipts begin with their old bytes`, begins(receipts, receiptLog));
}

async function checkCompact(checks: Checks, session: OldSession): Promise<void> {
  const { user, key, compacts = false } = session;
  const name = `${user.title}/${key}`;
  const { code, stdout, stderr } = await user.now("compact", "-s", key);
  const said = stdout + stderr;
  const isCompacted = code === 0 && /^Compacted/im.test(said);
  const done = isCompacted || (!compacts && /^Not compacted: /m.test(said));
  checks.check(
    `${name}: compact ${compacts ? "makes a summary" : "makes one or finds nothing to compact"}`,
    done,
    said,
  );
  const prompt = "After the compaction: which note was read?";
  const request = await continueTurn(checks, session, prompt);
  if (!request) return;
  const sent = JSON.stringify(conversationOf(request));
  checks.check(`${name}: the turn after it is sent`, sent.includes(prompt), sent);
  if (compacts)
    checks.check(
      `${name}: the request holds the summary`,
      /and got an answer to each question/.test(sent),
      sent,
    );
}

export async function checkSession(checks: Checks, session: OldSession): Promise<void> {
  await checkOutput(checks, session);
  await checkStatus(checks, session);
  await checkContinued(checks, session);
  checkFiles(checks, session);
  await checkCompact(checks, session);
}

/**
 * Who compacts: the whole table of the engine's two flags, the mode, a provider that truncates silently, and where the compaction is due.
 * Every expectation is written out. `handler` is who made the summary, `member` the engine's member that was called for it, `calls` the
 * requests to the summarizing model.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FULL } from "../../runner/short-form.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import {
  callsBig,
  ENGINE_SUMMARY,
  filler,
  ID,
  INTERCEPTED_SUMMARY,
  LaneSetting,
  MODEL_SUMMARY,
  ofType,
  ownSummary,
  recordingEngine,
  RESERVES,
  summaryIn,
  type Calls,
} from "./setting.ts";
import { everyOther } from "../../runner/long-tests.ts";

/**
 * The engine's `compact` delegates where it does not own compaction and writes its own summary where it does.
 * `in-attempt` is a context that grows over the budget inside a turn.
 */
const TABLE = `
owns intercepts mode      silent due         | member              lane       handler   summary     calls
no   no         default   no     /compact    | compact             queued     recorder  model       1
no   no         default   no     overflow    | compact             queued     recorder  model       1
no   no         default   no     pre-prompt  | compact             queued     recorder  model       1
no   no         default   no     in-attempt  | none                in-attempt built-in  model       1
no   no         default   yes    /compact    | compact             queued     recorder  model       1
no   no         default   yes    overflow    | compact             queued     recorder  model       1
no   no         default   yes    pre-prompt  | compact             queued     recorder  model       1
no   no         default   yes    in-attempt  | compact             queued     recorder  model       1
no   no         safeguard no     /compact    | compact             queued     recorder  model       1
no   no         safeguard no     overflow    | compact             queued     recorder  model       1
no   no         safeguard no     pre-prompt  | compact             queued     recorder  model       1
no   no         safeguard no     in-attempt  | compact             queued     recorder  model       1
no   no         safeguard yes    /compact    | compact             queued     recorder  model       1
no   no         safeguard yes    overflow    | compact             queued     recorder  model       1
no   no         safeguard yes    pre-prompt  | compact             queued     recorder  model       1
no   no         safeguard yes    in-attempt  | compact             queued     recorder  model       1
no   yes        default   no     /compact    | compact             queued     recorder  model       1
no   yes        default   no     overflow    | compact             queued     recorder  model       1
no   yes        default   no     pre-prompt  | compact             queued     recorder  model       1
no   yes        default   no     in-attempt  | interceptCompaction in-attempt recorder  interceptor 0
no   yes        default   yes    /compact    | compact             queued     recorder  model       1
no   yes        default   yes    overflow    | compact             queued     recorder  model       1
no   yes        default   yes    pre-prompt  | compact             queued     recorder  model       1
no   yes        default   yes    in-attempt  | compact             queued     recorder  model       1
no   yes        safeguard no     /compact    | compact             queued     recorder  model       1
no   yes        safeguard no     overflow    | compact             queued     recorder  model       1
no   yes        safeguard no     pre-prompt  | compact             queued     recorder  model       1
no   yes        safeguard no     in-attempt  | interceptCompaction in-attempt recorder  interceptor 0
no   yes        safeguard yes    /compact    | compact             queued     recorder  model       1
no   yes        safeguard yes    overflow    | compact             queued     recorder  model       1
no   yes        safeguard yes    pre-prompt  | compact             queued     recorder  model       1
no   yes        safeguard yes    in-attempt  | compact             queued     recorder  model       1
yes  no         default   no     /compact    | compact             queued     recorder  engine      0
yes  no         default   no     overflow    | compact             queued     recorder  engine      0
yes  no         default   no     pre-prompt  | compact             queued     recorder  engine      0
yes  no         default   no     in-attempt  | compact             queued     recorder  engine      0
yes  no         default   yes    /compact    | compact             queued     recorder  engine      0
yes  no         default   yes    overflow    | compact             queued     recorder  engine      0
yes  no         default   yes    pre-prompt  | compact             queued     recorder  engine      0
yes  no         default   yes    in-attempt  | compact             queued     recorder  engine      0
yes  no         safeguard no     /compact    | compact             queued     recorder  engine      0
yes  no         safeguard no     overflow    | compact             queued     recorder  engine      0
yes  no         safeguard no     pre-prompt  | compact             queued     recorder  engine      0
yes  no         safeguard no     in-attempt  | compact             queued     recorder  engine      0
yes  no         safeguard yes    /compact    | compact             queued     recorder  engine      0
yes  no         safeguard yes    overflow    | compact             queued     recorder  engine      0
yes  no         safeguard yes    pre-prompt  | compact             queued     recorder  engine      0
yes  no         safeguard yes    in-attempt  | compact             queued     recorder  engine      0
yes  yes        default   no     /compact    | compact             queued     recorder  engine      0
yes  yes        default   no     overflow    | compact             queued     recorder  engine      0
yes  yes        default   no     pre-prompt  | compact             queued     recorder  engine      0
yes  yes        default   no     in-attempt  | interceptCompaction in-attempt recorder  interceptor 0
yes  yes        default   yes    /compact    | compact             queued     recorder  engine      0
yes  yes        default   yes    overflow    | compact             queued     recorder  engine      0
yes  yes        default   yes    pre-prompt  | compact             queued     recorder  engine      0
yes  yes        default   yes    in-attempt  | compact             queued     recorder  engine      0
yes  yes        safeguard no     /compact    | compact             queued     recorder  engine      0
yes  yes        safeguard no     overflow    | compact             queued     recorder  engine      0
yes  yes        safeguard no     pre-prompt  | compact             queued     recorder  engine      0
yes  yes        safeguard no     in-attempt  | interceptCompaction in-attempt recorder  interceptor 0
yes  yes        safeguard yes    /compact    | compact             queued     recorder  engine      0
yes  yes        safeguard yes    overflow    | compact             queued     recorder  engine      0
yes  yes        safeguard yes    pre-prompt  | compact             queued     recorder  engine      0
yes  yes        safeguard yes    in-attempt  | compact             queued     recorder  engine      0
`;

/** The configuration leaves compaction to the runtime: `agents.defaults.compaction.owner: "native"`. */
const NATIVE = `
owns intercepts mode      silent due         | member              lane       handler   summary     calls
no   no         default   no     /compact    | none                queued     built-in  model       1
no   no         default   no     overflow    | none                queued     built-in  model       1
no   no         default   no     pre-prompt  | none                queued     built-in  model       1
no   no         default   no     in-attempt  | none                in-attempt built-in  model       1
no   no         default   yes    in-attempt  | none                queued     built-in  model       1
no   no         safeguard no     /compact    | none                queued     built-in  model       1
no   no         safeguard no     overflow    | none                queued     built-in  model       1
no   no         safeguard no     pre-prompt  | none                queued     built-in  model       1
no   no         safeguard no     in-attempt  | none                queued     built-in  model       1
no   yes        default   no     /compact    | none                queued     built-in  model       1
no   yes        default   no     overflow    | none                queued     built-in  model       1
no   yes        default   no     pre-prompt  | none                queued     built-in  model       1
no   yes        default   no     in-attempt  | interceptCompaction in-attempt recorder  interceptor 0
no   yes        default   yes    in-attempt  | none                queued     built-in  model       1
no   yes        safeguard no     in-attempt  | interceptCompaction in-attempt recorder  interceptor 0
no   yes        safeguard yes    in-attempt  | none                queued     built-in  model       1
`;

/** The engine intercepts and declines this one. */
const DECLINED = `
owns intercepts mode      silent due         | member              lane       handler   summary     calls
no   yes        default   no     in-attempt  | interceptCompaction in-attempt built-in  model       1
no   yes        safeguard no     in-attempt  | interceptCompaction in-attempt safeguard model       1
yes  yes        default   no     in-attempt  | interceptCompaction in-attempt built-in  model       1
yes  yes        safeguard no     in-attempt  | interceptCompaction in-attempt safeguard model       1
`;

interface Row {
  title: string;
  owns: boolean;
  intercepts: boolean;
  mode: string;
  silent: boolean;
  due: string;
  member: string;
  lane: string;
  handler: string;
  summary: string;
  calls: number;
}

function rowsOf(table: string): Row[] {
  const [, ...lines] = table.trim().split("\n");
  return lines.map((line) => {
    const [owns, intercepts, mode = "", silent, due = "", , ...expected] = line.split(/\s+/);
    const [member = "", lane = "", handler = "", summary = "", calls] = expected;
    return {
      title: `owns ${owns}, intercepts ${intercepts}, ${mode}, silent ${silent}, ${due}: ${handler} in the ${lane} lane`,
      owns: owns === "yes",
      intercepts: intercepts === "yes",
      mode,
      silent: silent === "yes",
      due,
      member,
      lane,
      handler,
      summary,
      calls: Number(calls),
    };
  });
}

const PLACES = ["/compact", "overflow", "pre-prompt", "in-attempt"];
const SUMMARIES: Record<string, string> = {
  model: MODEL_SUMMARY,
  engine: ENGINE_SUMMARY,
  interceptor: INTERCEPTED_SUMMARY,
};
const FIRST = filler(6_000, "amber");
const SECOND = filler(6_000, "birch");

describe("who compacts", () => {
  it("is decided for all 64 cases of flags, mode, provider and place", () => {
    const cases = rowsOf(TABLE).map(({ owns, intercepts, mode, silent, due }) =>
      JSON.stringify([owns, intercepts, mode, silent, due]),
    );
    assert.equal(cases.length, 64);
    assert.equal(new Set(cases).size, 64);
  });

  for (const row of everyOther(rowsOf(TABLE).filter(isRun))) it(row.title, () => check(row, {}));
  for (const row of everyOther(rowsOf(NATIVE)))
    it(`owner native: ${row.title}`, () => check(row, { native: true }));
  for (const row of everyOther(rowsOf(DECLINED)))
    it(`declined: ${row.title}`, () => check(row, { declines: true }));

  it("owner native with an engine that owns compaction is refused in run, /compact and status", async () => {
    const { engine, calls } = recordingEngine({ info: { ownsCompaction: true } });
    const setting = await LaneSetting.open({ engine, compaction: { ...RESERVES, owner: "native" } });
    try {
      const [failed] = ofType(await setting.run("hello"), "turn.failed");
      assert.equal(failed?.error.code, "host_requirement");
      await assert.rejects(setting.compact(), { code: "host_requirement" });
      assert.deepEqual(
        (await setting.status()).problems.map(({ code }) => code),
        ["host_requirement"],
      );
      assert.equal(setting.bodies().length, 0);
      assert.deepEqual(counts(calls), { compact: 0, interceptCompaction: 0 });
    } finally {
      await setting.end();
    }
  });
});

/** The short form runs each second row: of any four columns every combination. */
function isRun({ owns, intercepts, mode, silent, due }: Row): boolean {
  const flags = [owns, intercepts, mode === "safeguard", silent].filter(Boolean).length;
  return FULL || (flags + PLACES.indexOf(due)) % 2 === 0;
}

async function check(row: Row, how: { native?: boolean; declines?: boolean }): Promise<void> {
  const { engine, calls } = recordingEngine({
    info: { ownsCompaction: row.owns, interceptsCompaction: row.intercepts },
    ...(row.owns ? { compact: ownSummary } : {}),
    ...(how.declines ? { intercept: async () => ({ handled: false, reason: "not this one" }) } : {}),
  });
  const setting = await LaneSetting.open({
    engine,
    model: { truncatesSilently: row.silent },
    compaction: { ...RESERVES, mode: row.mode, ...(how.native ? { owner: "native" } : {}) },
    defaults: { toolResultMaxChars: 200_000 },
  });
  try {
    await setting.ask(FIRST);
    await setting.ask(SECOND);
    assert.deepEqual(counts(calls), { compact: 0, interceptCompaction: 0 });
    await provoke(setting, row);
    assert.deepEqual(counts(calls), {
      compact: row.member === "compact" ? 1 : 0,
      interceptCompaction: row.member === "interceptCompaction" ? 1 : 0,
    });
    assert.equal(setting.summaryBodies().length, row.calls);
    await checkStatus(setting, row);
    await checkRequests(setting, row);
  } finally {
    await setting.end();
  }
}

function counts(calls: Calls): { compact: number; interceptCompaction: number } {
  return { compact: calls.compact.length, interceptCompaction: calls.intercept.length };
}

/** Makes a compaction due at this place; a turn's events report one compaction, the row's. */
async function provoke(setting: LaneSetting, row: Row): Promise<void> {
  if (row.due === "/compact") {
    assert.equal((await setting.compact()).compacted, true);
    await setting.ask("go on");
    return;
  }
  if (row.due === "overflow") setting.turns.push(contextOverflowReply("openai-completions"));
  if (row.due === "in-attempt") setting.turns.push(callsBig(14_500));
  const events = await setting.ask(row.due === "pre-prompt" ? filler(14_500, "cedar") : "go on");
  const completed = ofType(events, "compaction.completed");
  assert.deepEqual(
    completed.map(({ lane, handledBy, ownsCompaction }) => ({ lane, handledBy, ownsCompaction })),
    [{ lane: row.lane, handledBy: row.handler, ownsCompaction: row.owns }],
  );
  assert.deepEqual(ofType(events, "context.degraded"), []);
}

async function checkStatus(setting: LaneSetting, row: Row): Promise<void> {
  const { recentCompactions, context } = await setting.status();
  const triggers: Record<string, string> = { "/compact": "manual", overflow: "overflow" };
  assert.deepEqual(
    recentCompactions.map(({ lane, trigger, handledBy }) => ({ lane, trigger, handledBy })),
    [{ lane: row.lane, trigger: triggers[row.due] ?? "threshold", handledBy: row.handler }],
  );
  // An engine that intercepts may still decline.
  const handler = row.member === "interceptCompaction" ? ID : row.handler;
  const next = row.due === "in-attempt" ? context.inTurn : context.next;
  assert.deepEqual(next, { lane: row.lane, handler });
}

/** The first request before the compaction has the old messages, the one after it the row's summary instead. */
async function checkRequests(setting: LaneSetting, row: Row): Promise<void> {
  await setting.ask("and once more");
  const [, second, ...later] = setting.turnBodies();
  assert.ok(second?.messages.some(({ text }) => text.includes(FIRST)));
  const summarized = later.slice(row.due === "overflow" || row.due === "in-attempt" ? 1 : 0);
  assert.equal(summarized.length, 2);
  for (const body of summarized) {
    const expected = SUMMARIES[row.summary] ?? "";
    assert.equal(summaryIn(body)?.slice(0, expected.length), expected);
    assert.ok(!body.messages.some(({ text }) => text.includes(FIRST)));
  }
}

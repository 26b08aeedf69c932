/**
 * Questions in a row as rows: by window, the share of the evidence in the request at each position, what a question costs with and
 * without recall, and the best baseline within the tokens of the same request.
 */
import { mulberry32 } from "../../generate.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import type { Split } from "./cases.ts";
import { conversationSets } from "./conversations.ts";
import type { Question } from "./facts.ts";
import { generatedTalk } from "./generated-talk.ts";
import { askInARow, type Answered, type Row } from "./in-a-row.ts";
import { joinCases } from "./joined.ts";
import { shareOf, within, type RecallCase } from "./measure.ts";
import { talkBaselines } from "./talk-baselines.ts";

const WINDOWS = [16_000, 32_000, 64_000, 200_000] as const;
const POSITIONS = 6;
/**
 * Sessions of one set at one window; `PAGURUS_BENCH_SESSIONS` takes another number. Each second one asks the questions of the one before in the
 * other order, so that the first and the sixth position have the same questions.
 */
const SESSIONS = Number(process.env["PAGURUS_BENCH_SESSIONS"] ?? 24);
const SEARCHES = 3;
/** One session of so many is also run without recall, and with searches. */
const PRICED = 4;
const OTHERS = 3;
const BASELINES = new Set(["recency", "BM25, turns", "turn x session", "user messages first"]);
/** The sixth question over the first, and the cost with recall over that without. */
const LEAST_LAST = 0.9;
const MOST_COST = 2;
const MOST_COST_GENERATED = 4;
/** Tokens of generated conversations that are more than a window holds. */
const GENERATED: Readonly<Record<number, number>> = {
  16_000: 24_000,
  32_000: 40_000,
  64_000: 80_000,
  200_000: 220_000,
};
/** What the user wants at all times; planted at these shares of a history. */
const RULES = [
  { at: 0.1, text: "Always give distances in kilometres when I ask about a trip." },
  { at: 0.4, text: "Never suggest restaurants that serve shellfish." },
  { at: 0.7, text: "From now on, answer questions about my health in two sentences." },
];
const MINUTE_MS = 60_000;

const GENERATED_SET = "generated";

interface TalkSet {
  name: string;
  cases: readonly RecallCase[];
  /** Questions about other people. */
  others: readonly string[];
}

/** The sets for a window: histories that it does not hold. */
function setsFor(window: number, split: Split, quick: boolean): TalkSet[] {
  const seed = split === "tuning" ? 1 : 101;
  const generated = Array.from({ length: quick ? 1 : 3 }, (_, index) =>
    generatedTalk(seed + index, GENERATED[window] ?? window),
  );
  const stranger = generatedTalk(seed + 50, 8_000).questions.map(
    ({ text }) => `${text} And who is Marguerite?`,
  );
  const found = conversationSets(split);
  const joined = found.filter(({ isJoined }) => isJoined);
  const all =
    joined.length > 1
      ? [{ name: "all, joined", cases: [joinCases(joined.flatMap(({ cases }) => cases))] }]
      : joined;
  const sets = window <= 16_000 ? found.filter(({ isJoined }) => !isJoined) : window <= 64_000 ? joined : all;
  const strangers = conversationSets(split === "tuning" ? "reporting" : "tuning")
    .filter(({ isJoined }) => !isJoined)
    .flatMap(({ cases }) => cases.flatMap(({ questions }) => questions.map(({ text }) => text)));
  if (quick || sets.length === 0) return [{ name: GENERATED_SET, cases: generated, others: stranger }];
  return sets.map(({ name, cases }) => ({ name, cases, others: strangers }));
}

/** The history with the rules between its messages. */
function withRules(messages: RecallCase["messages"]): RecallCase["messages"] {
  const planted = [...messages];
  for (const { at, text } of RULES.toReversed()) {
    const place = planted.findIndex(({ role }, index) => index >= at * messages.length && role === "user");
    const timestamp = (planted[place]?.timestamp ?? 0) - MINUTE_MS;
    planted.splice(place, 0, { role: "user", content: text, timestamp });
  }
  return planted;
}

/** Questions in another order for each session, whose evidence no earlier one has. */
function drawn(questions: readonly Question[], random: () => number): Question[] {
  const left = [...questions];
  const chosen: Question[] = [];
  const used = new Set<string>();
  while (chosen.length < POSITIONS && left.length > 0) {
    const [question] = left.splice(Math.floor(random() * left.length), 1);
    if (!question || question.gold.some((text) => used.has(text))) continue;
    for (const text of question.gold) used.add(text);
    chosen.push(question);
  }
  return chosen;
}

/** The same session in other ways. */
interface Others {
  off: Row;
  searchingOn: Row;
  searchingOff: Row;
}

interface Session {
  on: Row;
  others?: Others;
  /** Share of the evidence by baseline, for each position. */
  baselines: ReadonlyMap<string, readonly number[]>;
}

async function sessionOf(set: TalkSet, window: number, number: number): Promise<Session> {
  const pair = Math.floor(number / 2);
  const asked = set.cases[pair % set.cases.length] as RecallCase;
  const random = mulberry32(7 * window + pair);
  const inOrder = drawn(asked.questions, random);
  const questions = number % 2 === 0 ? inOrder : inOrder.toReversed();
  const history = withRules(asked.messages);
  const others = Array.from(
    { length: OTHERS },
    () => set.others[Math.floor(random() * set.others.length)] ?? "",
  );
  const run = (recall: boolean, searches: number): Promise<Row> =>
    askInARow(history, questions, {
      window,
      searches,
      config: { recall },
      rules: RULES.map(({ text }) => text),
      others: searches === 0 && recall ? others : [],
    });
  const on = await run(true, 0);
  const baselines = await baselineShares(asked, on.answers);
  if (number % PRICED > 0) return { on, baselines };
  const off = await run(false, 0);
  const [searchingOn, searchingOff] = [await run(true, SEARCHES), await run(false, SEARCHES)];
  return { on, baselines, others: { off, searchingOn, searchingOff } };
}

async function baselineShares(
  asked: RecallCase,
  answers: readonly Answered[],
): Promise<Map<string, number[]>> {
  const shares = new Map<string, number[]>();
  for (const recaller of talkBaselines().filter(({ name }) => BASELINES.has(name))) {
    await recaller.index(asked.messages);
    const own: number[] = [];
    for (const { question, tokens } of answers)
      own.push(shareOf(question.gold, within(await recaller.recall(question.text, tokens), tokens).text));
    shares.set(recaller.name, own);
  }
  return shares;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** The mean of what each session has at a position. */
function at(rows: readonly Row[], position: number, of: (answered: Answered) => number): number {
  return mean(rows.flatMap(({ answers }) => (answers[position] ? [of(answers[position])] : [])));
}

function over(rows: readonly Row[], of: (answered: Answered) => number): number {
  return mean(rows.flatMap(({ answers }) => answers.map(of)));
}

function rowsOf(
  start: string,
  sessions: readonly Session[],
  { isJudged, isGenerated }: { isJudged: boolean; isGenerated: boolean },
): BenchRow[] {
  const rows: BenchRow[] = [];
  const add = (measure: string, value: number, unit: string, target?: [">=" | "<=", number]): void => {
    const row = { measure: `${start}: ${measure}`, value, unit };
    rows.push(target && isJudged ? withTarget(row, ...target) : row);
  };
  const on = sessions.map((session) => session.on);
  const ofKind = (kind: keyof Others): Row[] => sessions.flatMap(({ others }) => others?.[kind] ?? []);
  const [off, searchingOn, searchingOff] = [ofKind("off"), ofKind("searchingOn"), ofKind("searchingOff")];
  const first = ({ first: share }: Answered): number => 100 * share;
  for (let position = 0; position < POSITIONS; position += 1) {
    const question = `question ${position + 1}`;
    const share = at(on, position, first);
    const others = [...(sessions[0]?.baselines.keys() ?? [])].map((name) => ({
      name,
      share: 100 * mean(sessions.map(({ baselines }) => baselines.get(name)?.[position] ?? 0)),
    }));
    const [best] = others.toSorted((one, other) => other.share - one.share);
    add(`${question}, evidence in the request`, share, "%");
    add(`${question}, without recall`, at(off, position, first), "%");
    for (const other of others) add(`${question}, ${other.name}`, other.share, "%");
    add(`${question}, ahead of the best baseline`, share - (best?.share ?? 0), "points", [">=", 0]);
  }
  const start1 = at(on, 0, first);
  add("the sixth question over the first", at(on, POSITIONS - 1, first) / Math.max(1, start1), "ratio", [
    ">=",
    LEAST_LAST,
  ]);
  const cost = ({ cost: price }: Answered): number => price;
  const priced = sessions.flatMap((session) => (session.others ? [session.on] : []));
  add("token equivalents a question, without searches", over(priced, cost), "tokens");
  add("token equivalents a question, without searches and recall", over(off, cost), "tokens");
  const [paid, paidOff] = [over(searchingOn, cost), over(searchingOff, cost)];
  add("token equivalents a question, searches included", paid, "tokens");
  add("token equivalents a question, searches included, without recall", paidOff, "tokens");
  // One search finds what is asked about a generated conversation: conversations of people cost more.
  const most = isGenerated ? MOST_COST_GENERATED : MOST_COST;
  add("cost over that without recall", paid / Math.max(1, paidOff), "ratio", ["<=", most]);
  add(
    "evidence after the searches",
    over(searchingOn, ({ last }) => 100 * last),
    "%",
  );
  add(
    "evidence after the searches, without recall",
    over(searchingOff, ({ last }) => 100 * last),
    "%",
  );
  add(
    "searches a question",
    over(searchingOn, ({ searches }) => searches),
    "",
  );
  add(
    "searches a question, without recall",
    over(searchingOff, ({ searches }) => searches),
    "",
  );
  add(
    "request",
    over(on, ({ tokens }) => tokens),
    "tokens",
  );
  add(
    "request without recall",
    over(off, ({ tokens }) => tokens),
    "tokens",
  );
  add(
    "rules in sight",
    over(on, ({ rules }) => 100 * rules),
    "%",
  );
  add("blocks for what was never mentioned", 100 * mean(on.map(({ falseBlocks }) => falseBlocks)), "%");
  return rows;
}

/** One line for people. */
function line(start: string, sessions: readonly Session[]): string {
  const on = sessions.map((session) => session.on);
  const shares = Array.from({ length: POSITIONS }, (_, position) =>
    at(on, position, ({ first }) => 100 * first).toFixed(1),
  );
  return `${start}: evidence ${shares.join(" / ")}`;
}

/**
 * `quick`, or without the files of the sets: generated conversations. Otherwise the reporting parts of the sets, or with
 * `PAGURUS_BENCH_SPLIT=tuning` the others.
 */
export async function inARowRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const split: Split = process.env["PAGURUS_BENCH_SPLIT"] === "tuning" ? "tuning" : "reporting";
  const rows: BenchRow[] = [];
  for (const window of quick ? WINDOWS.slice(0, 3) : WINDOWS) {
    for (const set of setsFor(window, split, quick)) {
      const start = `${set.name}, ${split}, ${window / 1_000}k`;
      const sessions: Session[] = [];
      for (let number = 0; number < (quick ? 1 : SESSIONS); number += 1)
        sessions.push(await sessionOf(set, window, number));
      log(line(start, sessions));
      rows.push(
        ...rowsOf(start, sessions, {
          isJudged: split === "reporting",
          isGenerated: set.name === GENERATED_SET,
        }),
      );
    }
  }
  return rows;
}

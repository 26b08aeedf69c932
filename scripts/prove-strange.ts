/**
 * `npm run prove -- bytes.1`: how many answers of strange servers are wrong at each door, before and now.
 * "Before" is the last commit whose doors read answers with the packages of the AI SDK. Ends with 1 if one is wrong now.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { dialectOf as currentDialectOf } from "../packages/gateway/src/dialect/dialects.ts";
import {
  mustBeRight,
  runStrangeServers,
  strangeAnswers,
  type StrangeClient,
} from "../packages/testkit/src/strange-servers/strange-suite.ts";
import {
  STRANGE_PROTOCOLS,
  type StrangeAnswer,
} from "../packages/testkit/src/strange-servers/strange-answer.ts";
import type { ApiBench } from "../test/model-api/setting.ts";
import { loopClientOf } from "../test/testkit/strange-servers/loop-client.ts";
import { apiOf, isComparable, wireResultOf } from "../test/testkit/strange-servers/reading.ts";
import { SERVE_APIS, serveProblems } from "../test/testkit/strange-servers/serve-door.ts";
import { ROOT } from "./command.ts";
import { BEFORE_WALLS, withOldCheckout } from "./old-checkout.ts";

/** Suites that run at once: most of their time is spent in pauses before retries. */
const AT_ONCE = 8;

/** A door of a checkout. Returns one sentence for each answer whose result is wrong. */
type Door = (answers: readonly StrangeAnswer[]) => Promise<string[]>;

async function loopProblems(client: StrangeClient, answers: readonly StrangeAnswer[]): Promise<string[]> {
  const groups = Array.from({ length: AT_ONCE }, (_group, at) =>
    answers.filter((_answer, index) => index % AT_ONCE === at).map(({ id }) => id),
  );
  const reports = await Promise.all(
    groups.filter((only) => only.length > 0).map((only) => runStrangeServers({ client, only })),
  );
  return reports.flatMap(({ results }) =>
    results.flatMap(({ id, status, reason = "" }) => (status === "failed" ? [`${id}: ${reason}`] : [])),
  );
}

/** The readers of `wire`, which gets the bytes of each answer as its provider sends them. */
async function wireProblems(
  dialectOf: typeof currentDialectOf,
  answers: readonly StrangeAnswer[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { id, protocol, status, headers, body, right } of answers) {
    const reader = (await dialectOf(apiOf(protocol))).reader(status, headers);
    reader.take(Buffer.from(body));
    try {
      mustBeRight(right, wireResultOf(reader.end()));
    } catch (error) {
      problems.push(`${id}: ${String(error)}`);
    }
  }
  return problems;
}

/** The doors of the checkout, by their names. */
async function doorsOf(root: string): Promise<Map<string, Door>> {
  const load = (path: string): Promise<unknown> => import(pathToFileURL(join(root, path)).href);
  const { createPagurus } = (await load(
    "packages/app/src/index.ts",
  )) as typeof import("../packages/app/src/index.ts");
  const { ApiBench: Bench } = (await load("test/model-api/setting.ts")) as { ApiBench: typeof ApiBench };
  const { dialectOf } = (await load("packages/gateway/src/dialect/dialects.ts")) as {
    dialectOf: typeof currentDialectOf;
  };
  const client = loopClientOf(createPagurus);
  return new Map<string, Door>([
    ["wire", (answers) => wireProblems(dialectOf, answers)],
    ["embedded loop", (answers) => loopProblems(client, answers)],
    ...SERVE_APIS.map((api): [string, Door] => [
      `serve, ${api.api}`,
      (answers) => serveProblems(api, answers, Bench),
    ]),
  ]);
}

interface Row {
  door: string;
  protocol: string;
  answers: number;
  before: number;
  now: string[];
}

async function rowsOf(oldRoot: string): Promise<Row[]> {
  const [before, now] = [await doorsOf(oldRoot), await doorsOf(ROOT)];
  const rows: Row[] = [];
  for (const [door, problemsNow] of now)
    for (const protocol of STRANGE_PROTOCOLS) {
      const answers = strangeAnswers().filter(
        (answer) => answer.protocol === protocol && (door !== "wire" || isComparable(answer)),
      );
      const old = (await before.get(door)?.(answers)) ?? [];
      const row = { door, protocol, answers: answers.length, before: old.length };
      rows.push({ ...row, now: await problemsNow(answers) });
      print(rows.at(-1));
    }
  return rows;
}

function print(row: Row | undefined): void {
  if (!row) return;
  const count = (value: number): string => String(value).padStart(8);
  console.log(
    `${row.door.padEnd(28)} ${row.protocol.padEnd(20)}${count(row.answers)}${count(row.before)}${count(row.now.length)}`,
  );
}

console.log(
  `${"door".padEnd(28)} ${"server".padEnd(20)}${"answers".padStart(8)}${"before".padStart(8)}${"now".padStart(8)}`,
);
const rows = await withOldCheckout(BEFORE_WALLS, rowsOf);
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
print({
  door: "all",
  protocol: "",
  answers: sum(rows.map(({ answers }) => answers)),
  before: sum(rows.map(({ before }) => before)),
  now: rows.flatMap(({ now }) => now),
});
for (const { door, now } of rows) for (const problem of now) console.log(`FAIL ${door}: ${problem}`);
// Old hosts may not end their timers.
process.exit(rows.every(({ now }) => now.length === 0) ? 0 : 1);

/** Suites of hosts and of the lossless engine, run again with their sessions in PostgreSQL in place of the files. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "../../../scripts/command.ts";
import { filesUnder } from "../../../scripts/source-files.ts";
import { FULL } from "../../runner/short-form.ts";
import { LENGTHS, ON_FILES, SHORT, SUITES, type OnFiles } from "../../servers/on-postgres/suites.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

const files = filesUnder(ROOT, "test", ".test.ts").filter((file) => !file.includes(LENGTHS));

function escaped(name: string): string {
  return name.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`);
}

async function run(file: string, leftOut: readonly OnFiles[]): Promise<{ code: unknown; output: string }> {
  const skips = leftOut.flatMap(({ test: name }) =>
    name === undefined ? [] : [`--test-skip-pattern=/^${escaped(name)}$/`],
  );
  const hook = new URL("../../servers/on-postgres/hook.ts", import.meta.url).href;
  // In their short lengths: the lengths have lines of `npm run prove` of their own.
  const { NODE_TEST_CONTEXT: _context, PAGURUS_PROVE: _prove, ...env } = process.env;
  const child = spawn(process.execPath, ["--test", "--test-reporter=tap", ...skips, join(ROOT, file)], {
    cwd: ROOT,
    env: { ...env, NODE_OPTIONS: `--import=${hook}`, PAGURUS_TEST_POSTGRES: database.url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [unknown];
  return { code, output };
}

async function homes(): Promise<number> {
  const rows = await database.query(
    "select 1 from information_schema.schemata where schema_name like 'home_%'",
  );
  return rows.length;
}

const wanted = FULL ? SUITES : SHORT;
const whole = new Set(ON_FILES.filter((each) => each.test === undefined).map(({ file }) => file));

for (const file of files.filter((each) => wanted.some((part) => each.startsWith(part)) && !whole.has(each)))
  test(`${file} passes on PostgreSQL`, async (t) => {
    const leftOut = ON_FILES.filter((each) => each.file === file);
    const { code, output } = await run(file, leftOut);
    assert.equal(code, 0, output);
    const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)`, "m").exec(output)?.[1]);
    assert.ok(count("pass") > 0, output);
    t.diagnostic(`${count("pass")} passed, ${leftOut.length} left out`);
  });

test("the suites did keep their sessions in PostgreSQL", async () => {
  assert.ok((await homes()) > 0);
});

test("each test that is left out is in a suite", () => {
  for (const { file } of ON_FILES)
    assert.ok(files.includes(file) && SUITES.some((part) => file.startsWith(part)), file);
});

/** Commands that the resident host runs for a client that loads only the thin entry. */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { until } from "../../runner/until.ts";
import type { Finished } from "../../turn/setting.ts";
import { Resident } from "./resident-setting.ts";

/** `*` is the side, so that each has its own sessions. */
const COMMANDS: readonly string[][] = [
  ["run", "first question"],
  ["run", "--session", "work-*", "second question"],
  ["run", "--json", "--session", "other-*", "third question"],
  ["run", "--session", "failing-*", "please fail"],
  ["run", "--json", "--session", "failing-*", "please fail"],
  ["run", "--model", "nowhere/none", "hello"],
  ["run", "--session", "bad\u0007key", "hello"],
  ["run", "--no-such-option"],
  ["run", "--help"],
  ["run", ""],
  ["run", "Look at @missing.txt"],
  ["sessions", "list"],
  ["sessions", "list", "--json", "--all"],
  ["status"],
  ["status", "--json", "--session", "work-*"],
  ["status", "--agent", "nobody"],
];

/** What differs between two runs of one command: ids, times, the sizes of a list that has grown. */
function plain(text: string): string {
  return text
    .replaceAll(/\b0m[0-9a-z]{14}\b/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?/g, "TIME")
    .replaceAll(/"(timestamp|startedAt|at|ms|durationMs|firstTokenMs|hash|crc32)": ?\d+/g, '"$1":0')
    .replaceAll(/\bjust now|\d+ (?:second|minute)s? ago/g, "AGO")
    .replaceAll(/(?<=\w-)[fa]\b/g, "*");
}

/** Shell words after which standard output is a pipe that no process reads. */
function withoutReader(folder: string): string {
  const pipe = join(folder, "no-reader");
  return `[ -p ${pipe} ] || mkfifo ${pipe}; exec 3<>${pipe} >${pipe} 3<&-`;
}

const shown = ({ code, stdout, stderr }: Finished) => ({
  code,
  stdout: plain(stdout),
  stderr: plain(stderr),
});

describe("the resident host", () => {
  let place: Resident;
  let pid: number;

  before(async () => {
    place = await Resident.make();
    pid = await place.warm();
  });
  after(() => place.close());

  it("gives each command the output and the exit code that it has in a process of its own", async () => {
    for (const args of COMMANDS) {
      const forwarded = await place.command(...args.map((arg) => arg.replace("*", "f")));
      const alone = await place.alone(...args.map((arg) => arg.replace("*", "a")));
      assert.deepEqual(shown(forwarded), shown(alone), args.join(" "));
    }
    assert.equal(place.pid, pid);
  });

  it("listens in a folder that its user alone may enter", () => {
    const { folder, key, socket } = place.files;
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(key).mode & 0o777, 0o600);
    assert.equal(statSync(socket).mode & 0o777, 0o600);
  });

  it("reads what is piped into a command, and nothing of it where the command reads nothing", async () => {
    const piped = await place.begin(["run", "-", "--session", "piped"], "words from a pipe").finished;
    assert.match(piped.stdout, /You said: words from a pipe/);
    const beside = await place.begin(["run", "about it", "--session", "beside"], "more words").finished;
    assert.match(beside.stdout, /more words/);
    assert.equal((await place.begin(["status"], "not read").finished).code, 0);
  });

  it("does without an input that stays open and silent, and notes it as the command's own process does", async () => {
    const pipe = join(place.setting.root, "silent");
    const silent = `[ -p ${pipe} ] || mkfifo ${pipe}; exec 3<>${pipe} <${pipe}`;
    const begin = (session: string): Promise<Finished> =>
      place.begin(["run", "--session", session, "hello"], "", silent).finished;
    const forwarded = await begin("silent-f");
    assert.deepEqual([forwarded.code, forwarded.stdout], [0, "You said: hello\n"]);
    assert.match(forwarded.stderr, /^note: standard input is open and sent nothing within 100 ms/);
    assert.deepEqual(shown(forwarded), shown(await place.withoutHost(() => begin("silent-a"))));
  });

  it("runs two commands at once, each in the folder and with the environment of its caller", async () => {
    const one = place.begin(["run", "--session", "one", "first"]);
    const two = place.begin(["run", "--session", "two", "second"]);
    const [first, second] = await Promise.all([one.finished, two.finished]);
    assert.equal(first.stdout, "You said: first\n");
    assert.equal(second.stdout, "You said: second\n");
    const folders = await Promise.all(
      [place.setting.root, place.setting.workspace].map((folder) =>
        place.begin(["status", "--json"], "", `cd ${folder}`).finished.then(({ stdout }) => stdout),
      ),
    );
    assert.notEqual(folders[0], folders[1]);
  });

  it("aborts the turn of a client that is interrupted, and of one that is killed", async () => {
    const interrupted = place.begin(["run", "--session", "stopped", "please wait"]);
    await until(() => place.model.requests.some(({ text }) => text.includes("please wait")));
    interrupted.child.kill("SIGINT");
    const ended = await interrupted.finished;
    assert.deepEqual([ended.code, ended.stderr.trim()], [130, "aborted"]);
    const killed = place.begin(["run", "--session", "killed", "now wait"]);
    await until(() => place.model.requests.some(({ text }) => text.includes("now wait")));
    killed.child.kill("SIGKILL");
    await killed.finished;
    await until(async () => /aborted/.test((await place.command("status", "--session", "killed")).stdout));
    assert.equal(place.pid, pid);
  });

  it("aborts the turn of a command whose reader has gone, as the command's own process does", async () => {
    const begin = (...args: string[]): Promise<Finished> =>
      place.begin(args, "", withoutReader(place.setting.root)).finished;
    const turn = await begin("run", "--json", "--session", "gone-f", "please wait");
    const alone = await place.withoutHost(() => begin("run", "--json", "--session", "gone-a", "please wait"));
    assert.deepEqual(shown(turn), { code: 130, stdout: "", stderr: "" });
    assert.deepEqual(shown(turn), shown(alone));
    assert.match((await place.command("status", "--session", "gone-f")).stdout, /aborted/);
    assert.equal(place.pid, pid);
  });

  it("ends a command that only reads in silence where its reader has gone, and reports a full file", async () => {
    const gone = await place.begin(["sessions", "list"], "", withoutReader(place.setting.root)).finished;
    assert.deepEqual(shown(gone), { code: 0, stdout: "", stderr: "" });
    const full = await place.begin(["sessions", "list"], "", "exec > /dev/full").finished;
    assert.match(full.stderr, /standard output cannot be written \(no space left on device\)/);
    assert.equal(full.code, 1);
    const alone = await place.withoutHost(
      () => place.begin(["sessions", "list"], "", "exec > /dev/full").finished,
    );
    assert.deepEqual(shown(full), shown(alone));
  });

  it("is reached without any module of the package but the thin entry", async () => {
    const hook = join(place.setting.root, "loaded.cjs");
    const file = join(place.setting.root, "loaded.json");
    writeFileSync(
      hook,
      `process.on("exit", () => process.env.LOADED && require("fs").writeFileSync(process.env.LOADED,
        JSON.stringify({ files: Object.keys(require.cache), built: process.moduleLoadList })));`,
    );
    const own = await Resident.make();
    try {
      Object.assign(own.setting.env, { NODE_OPTIONS: `--require ${hook}` });
      await own.warm();
      Object.assign(own.setting.env, { LOADED: file });
      assert.equal((await own.command("run", "hello")).stdout, "You said: hello\n");
      const { files, built } = JSON.parse(readFileSync(file, "utf8")) as { files: string[]; built: string[] };
      assert.deepEqual(files.map((each) => basename(each)).toSorted(), [
        "environment.js",
        "loaded.cjs",
        "pagurus.js",
        "thin.js",
      ]);
      const heavy = built.filter((name) =>
        /NativeModule (?:http|https|crypto|tls|worker_threads|sqlite|zlib|child_process|internal\/deps\/undici)/.test(
          name,
        ),
      );
      assert.deepEqual(heavy, []);
    } finally {
      await own.close();
    }
  });
});

it("a turn in a process of its own loads no schema library, and no package but the parser of options", async () => {
  const place = await Resident.make({ resident: false });
  try {
    const hook = join(place.setting.root, "loaded.cjs");
    const file = join(place.setting.root, "loaded.json");
    writeFileSync(
      hook,
      `const urls = [];
      require("node:module").registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
      process.on("exit", () => require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify(urls)));`,
    );
    // The first one checks the configuration by its schema.
    await place.command("status");
    Object.assign(place.setting.env, { NODE_OPTIONS: `--require ${hook}`, LOADED: file });
    assert.equal((await place.command("run", "hello")).stdout, "You said: hello\n");
    const urls = JSON.parse(readFileSync(file, "utf8")) as string[];
    assert.ok(urls.some((url) => /\/cli\/(?:src\/)?main\./.test(url)));
    const packages = urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/.][^/]*)/.exec(url)?.[1] ?? []);
    // The build has it in its own file.
    assert.deepEqual(
      [...new Set(packages)].filter((name) => name !== "commander"),
      [],
    );
    assert.deepEqual(
      urls.filter((url) => url.includes("/schema-library.")),
      [],
    );
  } finally {
    await place.close();
  }
});

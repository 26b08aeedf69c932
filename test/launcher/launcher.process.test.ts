/** Tests of bin/pagurus.js with a tiny program beside it. An older node is this one with another `process.version`. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  readdirSync,
  statSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { firstOf, longTest } from "../runner/long-tests.ts";
import { inputOf } from "../runner/child-input.ts";

const ECHO = `
const text: string = await new Response(process.stdin as never).text();
console.log(JSON.stringify({ args: process.argv.slice(2), version: process.version, text, execPath: process.execPath }));
process.exitCode = 7;
`;
const WAIT = `
process.on("SIGINT", () => console.log("SIGINT"));
process.on("SIGTERM", () => { console.log("SIGTERM"); process.exit(9); });
process.on("SIGHUP", () => process.kill(process.pid, "SIGKILL"));
console.log("pid " + process.pid);
setInterval(() => {}, 1000);
`;
/** Preload that makes the first node an old one; its children report their real version. */
const AGE = `
if (process.env.AGE_TO) {
  Object.defineProperty(process, "version", { value: process.env.AGE_TO });
  if (process.env.AGE_TO < "v22") delete process.execve;
  delete process.env.AGE_TO;
}
`;

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

describe("the launcher", () => {
  let folder = "";

  before(() => {
    folder = mkdtempSync(join(realpathSync(tmpdir()), "pagurus-launcher-"));
    writeFileSync(join(folder, "age.cjs"), AGE);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** A package folder of its own; `files` are relative to it. */
  function packageWith(name: string, files: Record<string, string>): string {
    const root = join(folder, name);
    cpSync(join(ROOT, "bin"), join(root, "bin"), { recursive: true });
    for (const [file, text] of Object.entries({ "package.json": `{"type":"module"}`, ...files })) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
    }
    return root;
  }

  /** Layout that `npm ci` leaves in a checkout: the node package beside it, or further up. */
  function bringNode(root: string): void {
    mkdirSync(join(root, "node_modules/node/bin"), { recursive: true });
    symlinkSync(process.execPath, join(root, "node_modules/node/bin/node"));
  }

  function start(
    root: string,
    options: { version?: string; args?: string[]; input?: string } = {},
  ): ChildProcess {
    const env: NodeJS.ProcessEnv = { ...process.env, XDG_CACHE_HOME: join(folder, "cache") };
    delete env["NODE_OPTIONS"];
    delete env["NODE_TEST_CONTEXT"];
    if (options.version) env["AGE_TO"] = options.version;
    const age = options.version ? ["--require", join(folder, "age.cjs")] : [];
    const child = spawn(process.execPath, [...age, join(root, "bin/pagurus.js"), ...(options.args ?? [])], {
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    inputOf(child).end(options.input ?? "");
    return child;
  }

  function ended(child: ChildProcess): Promise<Ended> {
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (part: Buffer) => (stdout += part.toString()));
    child.stderr?.on("data", (part: Buffer) => (stderr += part.toString()));
    return new Promise((resolve) => {
      child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
    });
  }

  function firstLine(child: ChildProcess): Promise<string> {
    return new Promise((resolve) => {
      child.stdout?.once("data", (part: Buffer) => resolve(part.toString().trim()));
    });
  }

  it("runs the checkout's TypeScript when it is there", async () => {
    const root = packageWith("both", {
      "packages/cli/src/main.ts": ECHO,
      "dist/cli/main.js": "throw new Error('built');",
    });
    const { code, stdout, stderr } = await ended(start(root, { args: ["a", "b c", ""], input: "in" }));
    assert.equal(code, 7, stderr);
    assert.equal(stderr, "");
    const output = JSON.parse(stdout) as { args: string[]; text: string };
    assert.deepEqual(output.args, ["a", "b c", ""]);
    assert.equal(output.text, "in");
  });

  it("runs the built JavaScript of an installed package", async () => {
    const root = packageWith("built", { "dist/cli/main.js": "console.log('built');" });
    const { code, stdout } = await ended(start(root));
    assert.deepEqual([code, stdout], [0, "built\n"]);
  });

  it("reports a missing program in one sentence", async () => {
    const { code, stdout, stderr } = await ended(start(packageWith("none", {})));
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^pagurus: the program is missing, [^\n]*\n$/);
  });

  it("keeps compiled code where no other user can change it, whatever the umask (finding F13)", async () => {
    const root = packageWith("cached", {
      "dist/cli/main.js": 'import "./part.js"; console.log(process.umask().toString(8));',
      "dist/cli/part.js": "export const part = 1;",
    });
    const cache = join(folder, "loose");
    mkdirSync(join(cache, "pagurus", "compile-cache"), { recursive: true });
    for (const path of ["", "pagurus", "pagurus/compile-cache"]) chmodSync(join(cache, path), 0o777);
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_CACHE_HOME: cache };
    const command = 'umask 0; exec "$0" "$@"';
    const started = spawnSync("sh", ["-c", command, process.execPath, join(root, "bin/pagurus.js")], {
      env,
      encoding: "utf8",
    });
    assert.deepEqual([started.stdout, started.stderr], ["0\n", ""]);
    const own = join(cache, "pagurus");
    const entries = readdirSync(own, { recursive: true, withFileTypes: true });
    assert.ok(
      entries.some((entry) => entry.isFile()),
      "nothing was cached",
    );
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      assert.equal(statSync(path).mode & 0o777, entry.isFile() ? 0o600 : 0o700, path);
    }
    assert.equal(statSync(own).mode & 0o777, 0o700);
  });

  for (const version of firstOf(["v14.21.3", "v20.20.2", "v22.23.3"])) {
    it(`on ${version} runs the same command on the checkout's own node`, async () => {
      const root = packageWith(`old-${version}`, { "packages/cli/src/main.ts": ECHO });
      bringNode(root);
      const { code, stdout, stderr } = await ended(start(root, { version, args: ["a", "b c"], input: "in" }));
      assert.equal(code, 7, stderr);
      assert.equal(stderr, "");
      const output = JSON.parse(stdout) as Record<string, unknown>;
      assert.deepEqual(
        [output["args"], output["version"], output["text"]],
        [["a", "b c"], process.version, "in"],
      );
    });
  }

  longTest("finds the node of a folder above", async () => {
    const root = packageWith("outer/node_modules/pagurus", { "dist/cli/main.js": "console.log('up');" });
    bringNode(join(folder, "outer"));
    const { stdout, stderr } = await ended(start(root, { version: "v18.0.0" }));
    assert.equal(stdout, "up\n", stderr);
  });

  it("on an old node without a newer one exits 2 with one sentence and a remedy", async () => {
    const root = packageWith("alone", { "packages/cli/src/main.ts": ECHO });
    const { code, stdout, stderr } = await ended(start(root, { version: "v20.20.2" }));
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^pagurus: needs Node\.js 24 [^\n]*v20\.20\.2[^\n]*npm ci[^\n]*\n$/);
  });

  longTest("skips a node that is too old and one that does not run", async () => {
    for (const [name, text] of [
      ["too-old", "#!/bin/sh\necho v22.0.0\n"],
      ["broken", "\u007fELF, but not really"],
    ] as const) {
      const root = packageWith(name, {
        "packages/cli/src/main.ts": ECHO,
        "node_modules/node/bin/node": text,
      });
      chmodSync(join(root, "node_modules/node/bin/node"), 0o755);
      const { code, stderr } = await ended(start(root, { version: "v20.20.2" }));
      assert.equal(code, 2, name);
      assert.match(stderr, /^pagurus: needs Node\.js 24 [^\n]*\n$/, name);
    }
  });

  for (const version of firstOf(["v20.20.2", "v22.23.3"])) {
    it(`on ${version} forwards signals and ends as the program ends`, async () => {
      const root = packageWith(`signals-${version}`, { "packages/cli/src/main.ts": WAIT });
      bringNode(root);
      const asked = start(root, { version });
      const end = ended(asked);
      await firstLine(asked);
      const interrupted = firstLine(asked);
      asked.kill("SIGINT");
      assert.equal(await interrupted, "SIGINT");
      asked.kill("SIGTERM");
      assert.deepEqual([(await end).code, (await end).signal], [9, null]);

      const died = start(root, { version });
      const death = ended(died);
      await firstLine(died);
      died.kill("SIGHUP");
      assert.equal((await death).signal, "SIGKILL");
    });

    it(`on ${version} ends the program when it is killed`, async () => {
      const root = packageWith(`killed-${version}`, { "packages/cli/src/main.ts": WAIT });
      bringNode(root);
      const child = start(root, { version });
      // The pipes close when the last process that holds them has ended.
      const end = ended(child);
      await firstLine(child);
      child.kill("SIGKILL");
      assert.equal((await end).signal, "SIGKILL");
    });
  }

  longTest("suppresses the two known warnings of early releases and no others", async () => {
    const root = packageWith("warnings", {
      "packages/cli/src/main.ts": `
        for (const what of ["SQLite is", "Type Stripping is", "Teleportation is"]) {
          process.emitWarning(what + " an experimental feature", "ExperimentalWarning");
        }
      `,
    });
    const { stderr } = await ended(start(root));
    assert.match(stderr, /Teleportation/);
    assert.doesNotMatch(stderr, /SQLite|Stripping/);
  });

  it("is written so that a node of any age can parse it", () => {
    const code = readFileSync(join(ROOT, "bin/pagurus.js"), "utf8")
      .replace(/\/\*[^]*?\*\//g, "")
      .replace(/^\s*\/\/.*$/gm, "");
    assert.doesNotMatch(code, /\b(const|let|class|async|await|import)\b|=>|\?\?|\?\.|\.\.\.|,\s*\)/);
  });
});

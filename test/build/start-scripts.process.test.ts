/** Chunks of the build that are kept as scripts, and the compiled code of these. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { asScript } from "../../scripts/start-scripts.ts";

const LOADER = `import { startScript } from ${JSON.stringify(pathToFileURL(join(ROOT, "packages/core/src/platform/start-script.ts")).href)};`;
/** As the bundler writes it: imports of a neighbour and of Node.js, one of a module when it is used, exports at the end. */
const CHUNK = `
import { t as neighbour } from "./neighbour.js";
import fs, { existsSync as exists } from "node:fs";
import * as path from "node:path";
const name = "own";
class Answer { text() { return [name, neighbour, exists(here()), fs.existsSync === exists, path.basename(here())]; } }
function here() { return new URL("./neighbour.js", import.meta.url).pathname; }
async function later() {
  const { here } = await import("./self.js");
  const { late } = await import("./alias.js");
  return [(await import("./later.js")).later + " import(\\"x\\")", late, here === whole()];
}
function whole() { return here; }
export { Answer as $, later, here as default };
`;
const PROGRAM = `
import whole, { $ as Answer, later } from "./chunk.js";
console.log(JSON.stringify([new Answer().text(), await later(), Answer.name, whole === (await import("./chunk.js")).default]));
`;
const ANSWER =
  '[["own","beside",true,true,"neighbour.js"],["late import(\\"x\\")","late",true],"Answer",true]\n';

describe("a chunk that is kept as a script", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "pagurus-scripts-"));
    // Neither file exists: the chunk loads what they would export.
    const aliases = new Map([
      ["self.js", { target: "chunk.js", names: [["here", "default"] as const] }],
      ["alias.js", { target: "later.js", names: [["late", "later"] as const] }],
    ]);
    const { module, script } = asScript(CHUNK, "chunk.js", LOADER, aliases);
    const files = {
      "package.json": '{ "type": "module" }',
      "neighbour.js": 'export const t = "beside";',
      "later.js": 'export const later = "late";',
      "program.js": PROGRAM,
      "chunk.js": module,
      "chunk.script": script,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function run(cache?: string): string {
    const env = {
      PATH: process.env["PATH"] ?? "",
      ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
    };
    const args = [join(folder, "program.js"), "run"];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  }

  /** The compiled code in a cache, which may have other files. */
  function codeFile(cache: string): string {
    const [file] = readdirSync(cache, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("chunk.run"),
    );
    assert.ok(file !== undefined, "no code was kept");
    return join(cache, file);
  }

  it("imports, exports and loads what the chunk did", () => {
    assert.equal(run(), ANSWER);
  });

  it("keeps its compiled code, and takes it back until other functions have run", () => {
    const cache = join(folder, "cache");
    const generations = [1, 2, 3, 4].map(() => {
      assert.equal(run(cache), ANSWER);
      return readFileSync(codeFile(cache))[4];
    });
    assert.deepEqual(generations, [1, 2, 3, 3]);
  });

  it("compiles again where the kept code is damaged or cut", () => {
    const cache = join(folder, "damaged");
    run(cache);
    const file = codeFile(cache);
    const whole = readFileSync(file);
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, whole.length >> 1, (whole.length >> 1) + 64);
    for (const code of [damaged, whole.subarray(0, whole.length - 9), Buffer.alloc(3)]) {
      writeFileSync(file, code);
      assert.equal(run(cache), ANSWER);
      assert.equal(readFileSync(file)[4], 1);
    }
  });

  it("refuses a chunk that changes a variable after it was exported", () => {
    const code = "let count = 0;\nfunction next() { return ++count; }\nexport { count as c, next as n };\n";
    assert.throws(
      () => asScript(code, "counter.js", LOADER),
      /counter\.js assigns to count, which it exports/,
    );
    assert.throws(() => asScript("export default 1;", "form.js", LOADER), /exports in a form/);
  });
});

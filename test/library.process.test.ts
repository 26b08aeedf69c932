/** The library's way in, as a program of its own meets it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const INDEX = new URL("../packages/app/src/index.ts", import.meta.url).href;

describe("the library", () => {
  it("reports a Node.js without node:sqlite in one sentence with a code (finding D13)", () => {
    const program = `
      import { createPagurus, PagurusError } from ${JSON.stringify(INDEX)};
      const error = await createPagurus({}).catch((thrown) => thrown);
      console.log(JSON.stringify({ ours: error instanceof PagurusError, code: error.code, message: error.message }));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--no-experimental-sqlite", "--input-type=module", "-e", program],
      { encoding: "utf8", cwd: fileURLToPath(new URL("..", import.meta.url)) },
    );
    const { ours, code, message } = JSON.parse(stdout || JSON.stringify({ message: stderr })) as Record<
      string,
      unknown
    >;
    assert.deepEqual([ours, code], [true, "node_too_old"], String(message));
    assert.match(String(message), /^Pagurus needs Node\.js 24 or newer with node:sqlite, and this v\d+.*\.$/);
  });
});

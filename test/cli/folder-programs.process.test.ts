/** Programs of a hostile repository in `pagurus run`: none is executed until the user trusts the folder. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, it } from "node:test";
import { recordTrust } from "../../packages/core/src/config/folder-trust.ts";
import { MAIN } from "../runner/program.ts";

const execute = promisify(execFile);
const SERVER = `import { writeFileSync } from "node:fs";
writeFileSync(process.env.MARKER, process.cwd());
`;

describe("a program of a hostile repository", () => {
  let root: string;
  let repository: string;

  beforeEach(() => {
    root = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-programs-")));
    repository = join(root, "cloned");
    write("cloned/.git/HEAD", "ref: refs/heads/main\n");
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function write(name: string, text: string): void {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }

  const env = (): Record<string, string | undefined> => ({
    PATH: process.env["PATH"],
    HOME: root,
    PAGURUS_HOME: join(root, "home"),
    PAGURUS_NO_PROBE: "1",
    MARKER: join(root, "executed"),
  });
  const run = (...options: string[]): Promise<unknown> =>
    execute(process.execPath, [MAIN, "run", "Hello.", ...options], {
      cwd: repository,
      env: env() as NodeJS.ProcessEnv,
    });

  for (const [what, args] of [
    ["that an MCP server of the user's configuration names by a relative path", ["server.mjs"]],
    ["that its import finds in the folder", ["--import", "./server.mjs", "-e", ""]],
  ] as const)
    it(`${what} starts only in a trusted folder`, async () => {
      write("cloned/server.mjs", SERVER);
      const local = {
        command: process.execPath,
        args,
        env: { MARKER: "${MARKER}" },
      };
      write("home/pagurus.json", JSON.stringify({ mcp: { servers: { local } } }));
      await run();
      assert.equal(existsSync(join(root, "executed")), false);
      await run("--trust");
      assert.equal(existsSync(join(root, "executed")), true, "--trust");
      rmSync(join(root, "executed"));
      recordTrust(join(root, "home"), repository, true);
      await run();
      assert.equal(existsSync(join(root, "executed")), true, "as before once it is trusted");
    });
});

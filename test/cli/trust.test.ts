import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, it } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { folderTrust, trusts } from "../../packages/cli/src/trust/folder-question.ts";
import { recordTrust } from "../../packages/core/src/config/folder-trust.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";

describe("the question about a folder", () => {
  let root: string;
  let work: string;

  beforeEach(() => {
    root = realpathSync.native(mkdtempSync(join(tmpdir(), "pagurus-question-")));
    work = join(root, "work");
    mkdirSync(work);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function cli(setup: { line?: string; terminal?: boolean } = {}): FakeCli {
    const made = { ...fakeCli({ env: { PAGURUS_HOME: join(root, "home") } }), cwd: work };
    made.stderr.isTTY = setup.terminal !== false;
    if (setup.terminal === false) made.stdin.isTTY = false;
    if (setup.line !== undefined) (made.stdin as unknown as PassThrough).end(setup.line);
    return made;
  }

  const ask = (asked: FakeCli, all?: boolean): Promise<boolean> =>
    trusts(asked, folderTrust(asked, all), { cwd: work, reasons: ["Qwen Code: .env\u001b[2J"] });

  it("is asked once, with what would decide, and the answer is kept", async () => {
    const first = cli({ line: "y\n" });
    assert.equal(await ask(first), true);
    assert.match(first.err(), new RegExp(`Do you trust ${work}\\?`));
    assert.match(first.err(), /Qwen Code: \.env/);
    assert.ok(!first.err().includes("\u001b[2J"), "a name of the folder moves no cursor");
    const second = cli();
    assert.equal(await ask(second), true);
    assert.equal(second.err(), "");
  });

  it("keeps a no, and asks again after an empty answer", async () => {
    assert.equal(await ask(cli({ line: "\n" })), false);
    assert.equal(await ask(cli({ line: "n\n" })), false);
    const later = cli({ line: "y\n" });
    assert.equal(await ask(later), false);
    assert.equal(later.err(), "", "the first answer holds");
  });

  it("is no without a terminal, and yes with --trust, which keeps nothing", async () => {
    const silent = cli({ terminal: false });
    assert.equal(await ask(silent, true), true);
    recordTrust(join(root, "home"), work, false);
    assert.equal(await ask(silent), false);
  });

  it("is answered by commands, too", async () => {
    const run = async (...argv: string[]): Promise<string> => {
      const made = cli();
      assert.equal(await execute(argv, made), 0, made.err());
      return made.out();
    };
    assert.match(
      await run("trust", "list"),
      /No folder is trusted yet\.\nThis folder .* is not yet asked about/,
    );
    assert.equal(await run("trust", "add"), `Trusted: ${work}\n`);
    assert.match(await run("trust", "list"), /\/work +yes .*\n.* is trusted\.\n$/);
    assert.equal(
      (JSON.parse(await run("trust", "list", "--json")) as { folders: unknown[] }).folders.length,
      1,
    );
    assert.equal(await run("trust", "remove", work), `Forgotten: ${work}\n`);
    assert.equal(await execute(["trust", "remove"], cli()), 2);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { MAIN } from "../runner/program.ts";

/** Hosts over one home, as separate processes; the model is the bundled one. */
describe("sessions belong to folders", () => {
  let root: string;
  let hosts: Pagurus[];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-claims-"));
    hosts = [];
    for (const folder of ["a/app", "b/app", "c"]) mkdirSync(join(root, folder), { recursive: true });
  });
  afterEach(async () => {
    for (const host of hosts) await host.close();
    rmSync(root, { recursive: true, force: true });
  });

  const env = (): Record<string, string> => ({ PAGURUS_HOME: join(root, "home"), PAGURUS_NO_PROBE: "1" });

  async function host(config: unknown = {}): Promise<Pagurus> {
    const made = await createPagurus({ home: join(root, "home"), env: env(), config });
    hosts.push(made);
    return made;
  }

  async function say(pagurus: Pagurus, folder: string, prompt: string, sessionKey?: string): Promise<string> {
    const cwd = join(root, folder);
    for await (const event of pagurus.run({
      prompt,
      cwd,
      ...(sessionKey === undefined ? {} : { sessionKey }),
    })) {
      if (event.type === "turn.completed") return event.sessionKey;
      if (event.type === "turn.failed") throw Object.assign(new Error(event.error.message), event.error);
    }
    throw new Error("no end");
  }

  function contentOf(pagurus: Pagurus, key: string): string {
    const reader = pagurus.sessions().openReader(key);
    try {
      return JSON.stringify(reader.contextMessages().messages);
    } finally {
      reader.close();
    }
  }

  it("each folder has a conversation of its own, also when names are equal, and keeps it (finding A1)", async () => {
    const pagurus = await host();
    assert.equal(await say(pagurus, "a/app", "the password is hunter2"), "app");
    const other = await say(pagurus, "b/app", "hello");
    assert.match(other, /^app-[0-9a-z]{4}$/);
    assert.doesNotMatch(contentOf(pagurus, other), /hunter2/);
    const later = await host();
    assert.equal(await say(later, "a/app", "again"), "app");
    assert.equal(await say(later, "b/app", "again"), other);
    for (const cwd of ["a/app", "b/app"].map((folder) => join(root, folder))) {
      const key = later.sessionKey({ cwd });
      assert.equal((await later.status({ cwd })).sessionKey, key);
      assert.equal((await later.context.receipts({ cwd })).length > 0, true);
    }
  });

  it("a transcript of another folder that is copied in gives that folder's conversation to no other (finding A1)", async () => {
    const elsewhere = await createPagurus({
      home: join(root, "elsewhere"),
      env: { ...env(), PAGURUS_HOME: join(root, "elsewhere") },
      config: {},
    });
    hosts.push(elsewhere);
    assert.equal(await say(elsewhere, "a/app", "the password is hunter2"), "app");
    const copyIn = (): void =>
      cpSync(join(root, "elsewhere/agents/main/sessions"), join(root, "home/agents/main/sessions"), {
        recursive: true,
        filter: (file) => !file.endsWith(".lock"),
      });
    const copies = join(root, "home/agents/main/sessions");
    for (const when of ["before the key is chosen", "after it"]) {
      rmSync(join(root, "home"), { recursive: true, force: true });
      const pagurus = await host();
      assert.equal(await say(pagurus, "c", "hello"), "c", "the index is complete");
      const store = pagurus.sessions();
      const { hold } = store;
      if (when === "after it")
        store.hold = (...asked) => {
          store.hold = hold;
          copyIn();
          return hold.apply(store, asked);
        };
      else copyIn();
      const claim = await pagurus.claim({ cwd: join(root, "b/app") });
      assert.ok(readdirSync(copies).length > 1, "copied");
      assert.match(claim.sessionKey, /^app-[0-9a-z]{4}$/, when);
      assert.deepEqual([claim.record, claim.insteadOf], [undefined, undefined]);
      claim.release();
      assert.doesNotMatch(contentOf(pagurus, await say(pagurus, "b/app", "hello")), /hunter2/);
      const beside = await pagurus.claim({ cwd: join(root, "a/app") });
      assert.equal(beside.record?.sessionKey, "app", "its own folder has it");
      beside.release();
      await pagurus.close();
    }
  });

  it("a repository is one folder, by whatever path it is reached (finding A1)", async () => {
    const pagurus = await host();
    const repository = join(root, "a/app");
    execFileSync("git", ["init", "-q", repository]);
    mkdirSync(join(repository, "src/deep"), { recursive: true });
    symlinkSync(join(repository, "src"), join(root, "link"));
    const keys = ["a/app", "a/app/src", "a/app/src/deep", "link/deep"].map((folder) =>
      pagurus.sessionKey({ cwd: join(root, folder) }),
    );
    assert.deepEqual(new Set(keys), new Set(["app"]));
    assert.equal(await say(pagurus, "link/deep", "hello"), "app");
  });

  it("a second live turn or program gets a conversation of its own, or is refused when it names one (finding A1)", async () => {
    const first = await host();
    const second = await host();
    const cwd = join(root, "c");
    const claim = await first.claim({ cwd });
    assert.equal(claim.sessionKey, "c");
    const beside = await second.claim({ cwd });
    assert.deepEqual([beside.sessionKey, beside.insteadOf?.sessionKey], ["c-2", "c"]);
    assert.equal(await say(second, "c", "hello"), "c-3", "a library's turn without a key, too");
    await assert.rejects(second.claim({ sessionKey: "c" }), { code: "session_locked" });
    await assert.rejects(
      second.claim({ cwd, how: "last" }).then(() => second.claim({ cwd, how: "last" })),
      {
        code: "session_locked",
      },
    );
    beside.release();
    claim.release();
    assert.equal((await second.claim({ sessionKey: "c" })).sessionKey, "c");
  });

  it("a conversation with a live turn is the folder's last one before the index has the turn (finding A1)", async () => {
    const first = await host();
    const second = await host();
    const cwd = join(root, "c");
    for (const text of ["one", "two"]) {
      const claim = await first.claim({ cwd, how: "new" });
      await say(first, "c", text, claim.sessionKey);
      claim.release();
    }
    const claim = await first.claim({ sessionKey: "c" });
    const writer = first.sessions().openWriter("c", { cwd });
    writer.append({ type: "message", turnId: "live", message: { role: "user", content: "three" } });
    await assert.rejects(second.claim({ cwd, how: "last" }), { code: "session_locked" });
    const beside = await second.claim({ cwd });
    assert.deepEqual([beside.sessionKey, beside.insteadOf?.sessionKey], ["c-3", "c"]);
    beside.release();
    writer.close();
    claim.release();
  });

  it("a conversation that a program follows takes no turn of another process (finding A1)", async () => {
    const pagurus = await host();
    const cwd = join(root, "c");
    assert.equal(await say(pagurus, "c", "hello"), "c");
    const claim = await pagurus.claim({ cwd });
    const run = (...more: string[]): string =>
      execFileSync(process.execPath, [MAIN, "run", "from the other", ...more], {
        cwd,
        env: { ...process.env, ...env() },
        encoding: "utf8",
        stdio: "pipe",
      });
    assert.throws(
      () => run("--session", "c"),
      /The session c is in use by process \d+ .*end that one first/s,
    );
    claim.release();
    run("--continue", "c");
    assert.match(contentOf(pagurus, "c"), /from the other/);
  });

  it("session.scope main keeps one conversation for all folders (finding A1)", async () => {
    const pagurus = await host({ session: { scope: "main" } });
    assert.equal(await say(pagurus, "a/app", "one"), "main");
    assert.equal(await say(pagurus, "b/app", "two"), "main");
    const claim = await pagurus.claim({ how: "new" });
    assert.deepEqual([claim.sessionKey, claim.record?.generation], ["main", 2]);
    claim.release();
  });

  it("run continues the folder's last conversation, --new starts another, --continue names one, and a line reports which (finding A1)", async () => {
    const run = async (...argv: string[]): Promise<string> => {
      const cli = fakeCli({ input: "", env: { ...env(), NO_COLOR: "1" }, open: createPagurus });
      cli.stderr.isTTY = true;
      Object.assign(cli, { cwd: join(root, "c") });
      const code = await execute(["run", ...argv], cli);
      const [line = ""] = cli.err().split("\n");
      return `${code} ${line}`;
    };
    assert.equal(await run("One"), "0 session c: new");
    assert.equal(await run("Two"), "0 session c: 1 turn, last used just now; --new begins another");
    assert.equal(await run("Three", "--new"), "0 session c-2: new");
    assert.match(await run("Four"), /^0 session c-2: 1 turn/);
    assert.match(await run("Five", "--continue", "c"), /^0 session c: 2 turns, .*; --session names another$/);
    assert.match(await run("--continue", "And six"), /^0 session c: 3 turns/);
    assert.match(await run("Seven", "--continue", "none"), /^1 pagurus: There is no session "none"/);
    assert.match(
      await run("Eight", "--new", "--session", "x"),
      /^2 pagurus: --session and --new each choose/,
    );
  });
});

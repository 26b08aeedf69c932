/** Codes of strangers: how long they are valid whatever a clock says, and how many strangers have one. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ChannelPeers } from "../../packages/channels/src/channel-peers.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { IncomingSetting } from "./incoming-setting.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("a code of a stranger", () => {
  let home: string;
  let db: Database;
  let peers: ChannelPeers;
  let clock: number;
  let up: number;
  let code: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-peers-"));
    db = openServerDatabase(home);
    [clock, up] = [1_000 * HOUR_MS, 10 * HOUR_MS];
    peers = new ChannelPeers(db, { now: () => clock, up: () => up });
    code = peers.codeFor("home", "eve@example.org", undefined).code ?? "";
  });
  afterEach(() => {
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  function pass(ms: number): void {
    clock += ms;
    up += ms;
  }

  it("lets its stranger in within an hour, once", () => {
    pass(59 * MINUTE_MS);
    assert.equal(peers.approve(code.toLowerCase())?.address, "eve@example.org");
    assert.equal(peers.approve(code), undefined);
  });

  const LATER: [string, () => void][] = [
    ["after an hour", () => pass(61 * MINUTE_MS)],
    ["after an hour, with the clock set back by three", () => (pass(61 * MINUTE_MS), (clock -= 3 * HOUR_MS))],
    [
      "after an hour, with the clock set back by half of one",
      () => (pass(61 * MINUTE_MS), (clock -= HOUR_MS / 2)),
    ],
    ["with the clock set back before it was made", () => (clock -= MINUTE_MS)],
    ["with the clock set an hour forward", () => (clock += 61 * MINUTE_MS)],
    ["after the machine was started again", () => (up = MINUTE_MS)],
  ];
  for (const [when, change] of LATER)
    it(`is not valid ${when}, and never again`, () => {
      change();
      assert.equal(peers.approve(code), undefined);
      [clock, up] = [1_000 * HOUR_MS, 10 * HOUR_MS];
      assert.equal(peers.approve(code), undefined, "a code that was refused has ended");
      assert.notEqual(peers.codeFor("home", "eve@example.org", undefined).code, undefined);
    });
});

describe("many strangers", () => {
  let home: IncomingSetting;
  afterEach(() => home.remove());

  it("of one domain shut no one out, and are reported", async () => {
    home = new IncomingSetting({ kind: "email" });
    const write = (from: string): Promise<void> => home.receive({ from, text: "hello" });
    for (let at = 0; at < 120; at += 1) await write(`s${at}@host${at}.evil.example`);
    await write("ann@example.org");
    await write("bob@evil.example");
    const sent = home.sent();
    for (const one of ["ann@example.org", "bob@evil.example"])
      assert.match(sent.find(({ to }) => to === one)?.text ?? "", /pagurus channels approve \w{8}$/);
    const waiting = home.store.people.all("home").map(({ address }) => address);
    assert.equal(waiting.filter((address) => address.endsWith("evil.example")).length, 20);
    assert.ok(waiting.includes("ann@example.org"), "the codes of others are valid as before");
    assert.match(home.refused[0] ?? "", /^20 strangers of evil\.example wait for approval/);
    assert.match(home.store.missed("home") ?? "", /strangers of evil\.example/);
  });

  it("of many domains shut no one out, and get a limited number of messages", async () => {
    home = new IncomingSetting({ kind: "email" });
    for (let at = 0; at < 700; at += 1) await home.receive({ from: `s@evil${at}.example`, text: "hello" });
    assert.equal(home.sent().length, 500);
    assert.equal(home.store.people.all("home").length, 200);
    assert.match(home.refused.at(-1) ?? "", /500 strangers got a code within an hour/);
  });
});

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { checkDisk } from "../../packages/doctor/src/home-check.ts";
import { checkPrograms } from "../../packages/doctor/src/programs-check.ts";
import { runDoctor, type DoctorInput } from "../../packages/doctor/src/run-doctor.ts";
import type { Finding } from "../../packages/doctor/src/finding.ts";
import { openLosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import { openSessionStore } from "../../packages/host/src/stores/files/session-store.ts";
import { openSqlite } from "../../packages/core/src/data/sqlite.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-doctor-"));
after(() => rmSync(root, { recursive: true, force: true }));

let homes = 0;
function newHome(): string {
  homes += 1;
  const home = join(root, `home-${homes}`);
  mkdirSync(join(home, "agents", "main", "sessions"), { recursive: true, mode: 0o700 });
  return home;
}

function textsOf(findings: readonly Finding[]): string {
  return findings.map(({ detail }) => detail).join("\n");
}

async function examine(home: string, changes: Partial<DoctorInput> = {}): Promise<Finding[]> {
  return runDoctor({
    home,
    env: { PATH: "" },
    findModels: () => Promise.resolve([{ id: "openai", source: "OPENAI_API_KEY" }]),
    registered: { engineIds: ["legacy"], contextEngine: "legacy", slotReason: "a default", failures: [] },
    ...changes,
  });
}

function of(findings: Finding[], check: string, level?: Finding["level"]): Finding[] {
  return findings.filter(
    (finding) => finding.check === check && (level === undefined || finding.level === level),
  );
}

/** Names of session files are ids of 16 characters; this is all but the last one. */
const ID = "0mg1abc00000000";

const header = (id: string, version = 3): string =>
  `${JSON.stringify({ type: "session", version, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" })}\n`;

describe("the doctor", () => {
  it("finds nothing to fix in a good home", async () => {
    const home = newHome();
    const sessions = join(home, "agents", "main", "sessions");
    writeFileSync(join(sessions, `${ID}1.jsonl`), `${header(`${ID}1`)}{}\n`, { mode: 0o600 });
    for (const beside of ["receipts", "mirror", "spend"])
      writeFileSync(join(sessions, `${ID}1.${beside}.jsonl`), "{}\n", { mode: 0o600 });
    writeFileSync(join(home, "pagurus.json"), "{}", { mode: 0o600 });
    const db = openSqlite(join(home, "agents", "main", "sessions.db"));
    db.raw.exec("CREATE TABLE t (a)");
    db.close();
    const findings = await examine(home);
    assert.deepEqual(
      findings.filter(({ level }) => level === "warn" || level === "error"),
      [],
    );
    assert.deepEqual(
      of(findings, "store").map(({ detail }) => detail),
      ["Agent main: 1 of 1 transcripts have a good header.", "Agent main: the session index is sound."],
    );
    assert.deepEqual(
      of(findings, "models").map(({ detail }) => detail),
      ["openai, from OPENAI_API_KEY."],
    );
  });

  it("completes on an empty machine", async () => {
    const findings = await examine(join(root, "nothing"), { findModels: () => Promise.resolve([]) });
    assert.deepEqual(
      findings.filter(({ level }) => level === "warn" || level === "error"),
      [],
    );
    assert.match(of(findings, "models")[0]?.detail ?? "", /built-in offline model/);
  });

  it("does not name the offline model as answering where a run would be refused", async () => {
    const findings = await examine(join(root, "nothing"), {
      findModels: () => Promise.resolve([]),
      refused: true,
    });
    assert.equal(of(findings, "models")[0]?.detail, "No key, local server or agent was found.");
  });

  it("names every problem and warning of the configuration", async () => {
    const home = newHome();
    writeFileSync(join(home, "pagurus.json"), '{"agents":{"defaults":{"maxSteps":0,"model":1}}}', {
      mode: 0o600,
    });
    assert.equal(of(await examine(home), "config", "error").length, 2);
    writeFileSync(join(home, "pagurus.json"), '{"agentz":{}}');
    const [warning] = of(await examine(home), "config", "warn");
    assert.equal(warning?.detail, "agentz is not a known key; it is not used. Did you mean agents?");
    writeFileSync(join(home, "pagurus.json"), "{,}");
    assert.match(of(await examine(home), "config", "error")[0]?.detail ?? "", /not valid JSON5/);
  });

  it("finds files that others can read, and closes them when asked", async () => {
    const home = newHome();
    const file = join(home, "pagurus.json");
    writeFileSync(file, "{}");
    chmodSync(file, 0o644);
    chmodSync(home, 0o755);
    symlinkSync("/etc/hosts", join(home, "link"));
    const [open] = of(await examine(home), "home");
    assert.equal(open?.level, "warn");
    // The marker of the validated configuration was created by the previous check and is private.
    assert.match(open?.detail ?? "", /may reach 2 files or folders/);
    assert.equal(of(await examine(home, { fix: true }), "home")[0]?.level, "ok");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(home).mode & 0o777, 0o700);
    assert.match(of(await examine(home), "home")[0]?.detail ?? "", /private to you/);
  });

  it("sets a damaged database of lossless aside when asked (finding F6)", async () => {
    const home = newHome();
    const store = openLosslessStore(join(home, "agents", "main"));
    store.openSession("session0001");
    await store.close();
    assert.match(textsOf(await examine(home)), /the database of lossless is sound/);
    const bytes = readFileSync(store.file);
    writeFileSync(store.file, bytes.fill(0xa5, 4_096, 3 * 4_096));
    const [damaged] = of(await examine(home), "store", "warn");
    assert.match(damaged?.detail ?? "", /lossless\.db is damaged/);
    assert.match(
      textsOf(await examine(home, { fix: true })),
      /lossless\.db is damaged .* it is \S+\.damaged-\d+ now/,
    );
    assert.equal(existsSync(store.file), false);
    assert.deepEqual(of(await examine(home), "store", "warn"), []);
  });

  it("finds the problems of the store", async () => {
    const home = newHome();
    const sessions = join(home, "agents", "main", "sessions");
    const put = (name: string, text: string): void =>
      writeFileSync(join(sessions, name), text, { mode: 0o600 });
    put(`${ID}0.jsonl`, header(`${ID}0`));
    put(`${ID}0.jsonl.torn`, "{half");
    put(`${ID}0.jsonl.quarantine`, "{}\n");
    put(`${ID}1.jsonl`, header(`${ID}0`));
    put(`${ID}2.jsonl`, "\u0000\u0000\n");
    put(`${ID}3.jsonl`, "{}\n");
    put(`${ID}3.key`, "main\n");
    put(`${ID}4.jsonl`, header(`${ID}4`, 99));
    put(`${ID}5.jsonl`, "");
    put("notes.jsonl", "{}\n");
    put("copy-of-a-session.jsonl", header(`${ID}0`));
    put(
      "named.by-an-engine.jsonl",
      header("named.by-an-engine").replace('"version"', '"storedAs":"named.by-an-engine","version"'),
    );
    put("dead.lock", JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), epoch: 1 }));
    put("reused.lock", JSON.stringify({ pid: process.pid, host: hostname(), startTicks: "0" }));
    put("live.lock", JSON.stringify({ pid: process.pid, host: hostname() }));
    put("far.lock", JSON.stringify({ pid: 1, host: "elsewhere" }));
    put("empty.lock", "");
    writeFileSync(join(home, "agents", "main", "sessions.db"), "no database ".repeat(500), {
      mode: 0o600,
    });
    const findings = of(await examine(home), "store");
    const texts = findings.map(({ level, detail }) => `${level} ${detail.replace(sessions, "")}`);
    assert.ok(texts.includes("info Agent main: 2 of 9 transcripts have a good header."));
    const reported = (level: string, sentence: string): void =>
      assert.ok(texts.includes(`${level} /${ID}${sentence}`), `${sentence}\n${texts.join("\n")}`);
    reported("warn", `1.jsonl has the header of the session ${ID}0; it is used as it is.`);
    const continues = "jsonl has no readable header; its session continues without it, under the key";
    reported("warn", `2.${continues} recovered:${ID}2.`);
    reported("warn", `3.${continues} main.`);
    reported("error", "4.jsonl was written by a newer Pagurus, so this one cannot open it.");
    reported("error", `5.jsonl is empty: the conversation under the key recovered:${ID}5 is lost.`);
    assert.ok(texts.some((text) => text.startsWith("warn /copy-of-a-session.jsonl is not named after")));
    assert.ok(!texts.some((text) => text.includes("named.by-an-engine")));
    assert.ok(texts.includes("warn /notes.jsonl is not named after a session, so it is never opened."));
    assert.ok(texts.some((text) => /torn of agent main keeps 5 bytes/.test(text)));
    assert.ok(texts.some((text) => /quarantine of agent main lists lines/.test(text)));
    const locks = texts.filter((text) => text.includes(".lock"));
    assert.equal(
      locks.some((text) => text.includes("/dead.lock")),
      true,
    );
    assert.equal(
      locks.some((text) => /live|far|empty/.test(text)),
      false,
    );
    assert.ok(texts.some((text) => /^warn .*\.db is damaged/.test(text)));
  });

  it("names the indexed key of a transcript without a header", async () => {
    const home = newHome();
    const agentDir = join(home, "agents", "main");
    const store = openSessionStore({ agentDir, agentId: "main" });
    const { file } = store.renew("work", { cwd: "/" });
    store.close();
    writeFileSync(file, "{}\n");
    const [warning] = of(await examine(home), "store", "warn");
    assert.match(
      warning?.detail ?? "",
      /no readable header; its session continues without it, under the key work\.$/,
    );
    const reopened = openSessionStore({ agentDir, agentId: "main" });
    assert.deepEqual(
      reopened.list().map((record) => record.sessionKey),
      ["work"],
    );
    reopened.close();
  });

  it("reports a home that is read-only or nearly full", async () => {
    const [refused] = checkDisk("/home/x/.pagurus", { folder: "/home/x", refusal: "no", freeBytes: 0 });
    assert.equal(refused?.level, "error");
    assert.match(refused?.detail ?? "", /^\/home\/x cannot be written .*pagurus does not exist yet.*: no\.$/);
    const [full] = checkDisk("/x", { folder: "/x", freeBytes: 9_900_000 });
    assert.equal(full?.level, "warn");
    assert.match(full?.detail ?? "", /^The disk of \/x has 9\.9 MB left/);
    assert.deepEqual(checkDisk("/x", { folder: "/x", freeBytes: 10_000_000 }), []);
    const home = newHome();
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=700", "none", home]).status !== 0) return;
    try {
      assert.equal(of(await examine(home), "home")[0]?.level, "warn");
      spawnSync("mount", ["-o", "remount,ro", home]);
      assert.match(of(await examine(home), "home", "error")[0]?.detail ?? "", /read-only/);
      const below = of(await examine(join(home, "deeper", "home")), "home", "error");
      assert.match(below[0]?.detail ?? "", /cannot be written .*deeper.* does not exist yet/);
    } finally {
      spawnSync("umount", [home]);
    }
  });

  it("reports why every run would be refused", async () => {
    const failures = [{ pluginId: "lossless", reason: "no database.", needed: "is a gate (user_prompt)" }];
    const registered = {
      engineIds: ["legacy"],
      contextEngine: "lossless",
      slotReason: "plugins.slots.contextEngine",
      failures,
    };
    const findings = await examine(newHome(), { registered, nodeVersion: "22.1.0" });
    assert.match(
      of(findings, "engine", "error")[0]?.detail ?? "",
      /"lossless" is not registered.*there are: legacy/,
    );
    assert.match(
      of(findings, "plugins", "error")[0]?.detail ?? "",
      /lossless could not be registered: no database\./,
    );
    assert.match(of(findings, "node", "error")[0]?.detail ?? "", /22\.1\.0 is too old/);
  });

  it("turns a check that fails into a finding", async () => {
    const findings = await examine(newHome(), {
      findModels: () => Promise.reject(new Error("no such thing")),
    });
    assert.equal(of(findings, "models", "error")[0]?.detail, "The check failed: no such thing");
  });
});

describe("the programs", () => {
  const bin = join(root, "bin");
  mkdirSync(bin);
  const program = (name: string, script: string): void =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

  it("are queried for their version, each within a deadline that is not held against them (finding D10)", async () => {
    program("rg", "echo 'ripgrep 14.1.0'; echo more");
    program("git", "exit 3");
    program("codex", "/bin/sleep 600");
    writeFileSync(join(bin, "claude"), "not executable");
    const findings = await checkPrograms({ PATH: `relative:${bin}` }, 1_500);
    assert.equal(
      findings.find(({ detail }) => detail.startsWith("rg:"))?.detail,
      `rg: ripgrep 14.1.0 (${bin}/rg).`,
    );
    assert.ok(
      findings.some(
        ({ level, detail }) =>
          level === "warn" && /git does not print its version: it ended with code 3/.test(detail),
      ),
    );
    assert.ok(
      findings.some(
        ({ level, detail }) =>
          level === "info" && /codex did not answer within 1\.5 s, so its version is not known/.test(detail),
      ),
    );
    assert.ok(
      findings.some(({ level, detail }) => level === "info" && detail.startsWith("claude is not installed")),
    );
  });
});

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { checkPrograms } from "../../src/doctor/programs-check.ts";
import { runDoctor, type DoctorInput } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { openSqlite } from "../../src/platform/sqlite.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-doctor-"));
after(() => rmSync(root, { recursive: true, force: true }));

let homes = 0;
function newHome(): string {
  homes += 1;
  const home = join(root, `home-${homes}`);
  mkdirSync(join(home, "agents", "main", "sessions"), { recursive: true, mode: 0o700 });
  return home;
}

async function examine(home: string, changes: Partial<DoctorInput> = {}): Promise<Finding[]> {
  return runDoctor({
    home,
    env: { PATH: "" },
    findModels: () => Promise.resolve([{ id: "openai", source: "OPENAI_API_KEY" }]),
    registered: { engineIds: ["legacy"], contextEngine: "legacy", failures: [] },
    ...changes,
  });
}

function of(findings: Finding[], check: string, level?: Finding["level"]): Finding[] {
  return findings.filter(
    (finding) => finding.check === check && (level === undefined || finding.level === level),
  );
}

const header = (id: string, version = 3): string =>
  `${JSON.stringify({ type: "session", version, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" })}\n`;

describe("the doctor", () => {
  it("finds nothing to mend in a good home", async () => {
    const home = newHome();
    const sessions = join(home, "agents", "main", "sessions");
    writeFileSync(join(sessions, "s1.jsonl"), `${header("s1")}{}\n`, { mode: 0o600 });
    writeFileSync(join(sessions, "s1.receipts.jsonl"), "{}\n", { mode: 0o600 });
    writeFileSync(join(home, "pagurus.json"), "{}", { mode: 0o600 });
    const db = openSqlite(join(home, "agents", "main", "sessions.db"));
    db.exec("CREATE TABLE t (a)");
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

  it("goes through an empty machine", async () => {
    const findings = await examine(join(root, "nothing"), { findModels: () => Promise.resolve([]) });
    assert.deepEqual(
      findings.filter(({ level }) => level === "warn" || level === "error"),
      [],
    );
    assert.match(of(findings, "models")[0]?.detail ?? "", /built-in offline model/);
  });

  it("names every problem and warning of the configuration", async () => {
    const home = newHome();
    writeFileSync(join(home, "pagurus.json"), '{"agents":{"defaults":{"maxSteps":0,"model":1}}}', {
      mode: 0o600,
    });
    assert.equal(of(await examine(home), "config", "error").length, 2);
    writeFileSync(join(home, "pagurus.json"), '{"agentz":{}}');
    const [warning] = of(await examine(home), "config", "warn");
    assert.equal(warning?.detail, "agentz is not a known key; it is not used.");
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
    // The marker of the validated configuration is made by the check before and is private.
    assert.match(open?.detail ?? "", /may reach 2 files or folders/);
    assert.equal(of(await examine(home, { fix: true }), "home")[0]?.level, "ok");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(home).mode & 0o777, 0o700);
    assert.match(of(await examine(home), "home")[0]?.detail ?? "", /private to you/);
  });

  it("finds what is wrong in the store", async () => {
    const home = newHome();
    const sessions = join(home, "agents", "main", "sessions");
    const put = (name: string, text: string): void =>
      writeFileSync(join(sessions, name), text, { mode: 0o600 });
    put("good.jsonl", header("good"));
    put("other.jsonl", header("not-other"));
    put("garbage.jsonl", "\u0000\u0000");
    put("newer.jsonl", header("newer", 99));
    put("good.jsonl.torn", "{half");
    put("good.jsonl.quarantine", "{}\n");
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
    assert.ok(texts.includes("info Agent main: 1 of 4 transcripts have a good header."));
    assert.equal(findings.filter(({ level }) => level === "error").length, 3);
    assert.ok(texts.some((text) => /newer\.jsonl was written by a newer Pagurus/.test(text)));
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

  it("says why every run would be refused", async () => {
    const failures = [{ pluginId: "lossless", reason: "no database." }];
    const registered = { engineIds: ["legacy"], contextEngine: "lossless", failures };
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

  it("are asked for their version, each within the deadline", async () => {
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
          level === "warn" && /git does not tell its version: it ended with code 3/.test(detail),
      ),
    );
    assert.ok(
      findings.some(
        ({ level, detail }) =>
          level === "warn" && /codex does not tell.*took longer than 1500 ms/.test(detail),
      ),
    );
    assert.ok(
      findings.some(({ level, detail }) => level === "info" && detail.startsWith("claude is not installed")),
    );
  });
});

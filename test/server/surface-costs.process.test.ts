/** Costs of direct surfaces at `pagurus serve`: in the same ledger and under the same limits as turns, with a line in the audit log. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { AuditLog } from "../../packages/server/src/access/audit-log.ts";
import { until } from "../runner/until.ts";
import { soundForm, SurfaceSetting } from "./surfaces-setting.ts";

interface Line {
  cost: number;
  purpose: string;
  sessionId?: string;
}

function linesOf(file: string): Line[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

/** All paid requests of the agent `main`. */
function spent(home: string): Line[] {
  const folder = join(home, "agents", "main", "spend");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => linesOf(join(folder, name)));
}

describe("the cost of a direct surface", () => {
  let setting: SurfaceSetting;
  before(async () => {
    setting = await SurfaceSetting.start({ defaults: { maxCost: { day: 0.2, session: 0.1 } } });
  });
  after(() => setting.close());

  async function paid(count: number): Promise<Line[]> {
    await until(() => spent(setting.setting.home).length === count);
    return spent(setting.setting.home);
  }

  it("is that of tokens, images, characters and seconds, in the ledger of the day", async () => {
    await setting.post("/embeddings", { model: "lab/embeds", input: ["one", "two"] });
    await setting.post("/audio/speech", { model: "lab/speaks", input: "x".repeat(1_000), voice: "alloy" });
    await setting.post("/audio/transcriptions", soundForm("lab/writes"));
    await setting.post("/images/generations", { model: "lab/paints", prompt: "x" });
    const lines = (await paid(4)).map(({ cost, purpose }) => [purpose, Number(cost.toFixed(6))]);
    assert.deepEqual(
      lines.toSorted((one, other) => String(one[0]).localeCompare(String(other[0]))),
      [
        // 14 tokens, 1,000 characters, 30 s as the provider counts them.
        ["embeddings", 0.014],
        ["images", 0.04],
        ["speech", 0.015],
        ["transcription", 0.003],
      ],
    );
  });

  it("counts for the session that the client names, whose limit refuses the next request", async () => {
    const { body } = await setting.server.call("POST", "/api/v1/sessions", { key: "art" });
    const headers = { "x-pagurus-session": "art" };
    const asked = { model: "lab/paints", prompt: "x", n: 2 };
    assert.equal((await setting.post("/images/generations", asked, { headers })).status, 200);
    await paid(5);
    const file = join(
      setting.setting.home,
      "agents",
      "main",
      "sessions",
      `${String(body["id"])}.spend.jsonl`,
    );
    assert.deepEqual(
      linesOf(file).map(({ cost }) => cost),
      [0.08],
    );
    const before = setting.provider.requests.length;
    const refused = await setting.post("/images/generations", asked, { headers });
    assert.equal(refused.status, 402);
    assert.equal(refused.code, "cost_limit");
    assert.match(
      refused.message,
      /session has cost \$0\.08 of \$0\.1, and 2 images of lab\/paints would cost/,
    );
    assert.equal(setting.provider.requests.length, before);
  });

  it("refuses a request that the limit of the day does not pay for, also of those under way together", async () => {
    const before = setting.provider.requests.length;
    const asked = { model: "lab/paints", prompt: "x", n: 1 };
    const many = await Promise.all(
      Array.from({ length: 4 }, () => setting.post("/images/generations", asked)),
    );
    // 0.152 of 0.2 is spent.
    assert.deepEqual(
      many.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, 402, 402, 402],
    );
    assert.equal(setting.provider.requests.length, before + 1);
  });

  it("refuses a model without prices while there is a limit", async () => {
    const { status, message } = await setting.post("/embeddings", { model: "lab/unpriced", input: "x" });
    assert.equal(status, 402);
    assert.match(message, /prices of lab\/unpriced are not known/);
  });

  it("is nothing for a request that the provider refuses", async () => {
    const before = spent(setting.setting.home).length;
    setting.provider.fail(400, { message: "No." });
    const { status } = await setting.post("/audio/speech", {
      model: "lab/speaks",
      input: "x",
      voice: "alloy",
    });
    assert.equal(status, 400);
    assert.equal(spent(setting.setting.home).length, before);
  });

  it("leaves a line in the audit log for each request that is passed on", async () => {
    const db = openServerDatabase(setting.setting.home);
    try {
      const rows = new AuditLog(db).newest(100).filter(({ action }) => action.startsWith("POST /v1/"));
      assert.equal(rows.length, setting.provider.requests.length);
      assert.ok(
        rows.some(({ action, sessionKey }) => action.endsWith("/generations") && sessionKey === "art"),
      );
      assert.ok(rows.every(({ tokenId, agentId }) => tokenId === "local" && agentId === "main"));
    } finally {
      db.close();
    }
  });
});

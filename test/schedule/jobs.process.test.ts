import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { serverDatabaseFile } from "../../packages/inbox/src/server-database.ts";
import { openSqlite } from "../../packages/core/src/data/sqlite.ts";
import { startServer } from "../servers/server.ts";
import { makeSetting, modelConfig, start } from "../turn/setting.ts";
import { longTest } from "../runner/long-tests.ts";

longTest("runs a job once for each due time through kill -9 of the server", async () => {
  const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Done." }) });
  const setting = makeSetting(modelConfig("openai-completions", model.url));
  const reaches = async (count: number): Promise<void> => {
    while (model.requests.length < count) await pause(20);
  };
  let server = start(setting, ["serve", "--port", "0"]);
  try {
    const added = await start(setting, ["jobs", "add", "--every", "1s", "--session", "work", "Look around."])
      .finished;
    assert.equal(added.code, 0, added.stderr);
    for (let count = 1; count <= 3; count += 1) {
      await reaches(count * 2);
      server.child.kill("SIGKILL");
      await server.finished;
      server = start(setting, ["serve", "--port", "0"]);
    }
    await reaches(model.requests.length + 2);
  } finally {
    server.child.kill("SIGTERM");
    await server.finished;
    await model.close();
  }
  const db = openSqlite(serverDatabaseFile(setting.home), { readOnly: true });
  const work = db.all<{ idempotency: string; state: string; outcome: string }>(
    "SELECT idempotency, state, outcome FROM work WHERE token = 'schedule'",
  );
  db.close();
  setting.remove();
  assert.ok(work.length >= 4);
  assert.equal(new Set(work.map(({ idempotency }) => idempotency)).size, work.length);
  for (const { state, outcome } of work.filter((each) => each.state === "ended"))
    assert.equal(`${state} ${outcome}`, "ended completed");
});

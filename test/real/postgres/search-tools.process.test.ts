/** The model's search, and `pagurus lossless search`, over sessions of other hosts. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { startServer } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, run } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

test("a model finds messages of a session that its host never had, until that is deleted", async (t) => {
  const store = { ...(await newTables(database.url)), kind: "postgres" };
  const model = await startServer({
    protocol: "openai-completions",
    script: (request) => {
      const { messages } = readBody("openai-completions", request);
      const input = messages.findLastIndex(({ role }) => role === "user");
      if (!messages[input]?.text.includes("Look for") || messages.length > input + 1)
        return { text: "Noted." };
      const search = { query: "where does the heron nest", scope: "agent" };
      return { text: "Looking.", toolCalls: [{ id: "c1", name: "context_search", arguments: search }] };
    },
  });
  t.after(() => model.close());
  const hosts = [0, 1].map(() =>
    makeSetting(
      modelConfig(
        "openai-completions",
        model.url,
        {},
        { store, plugins: { slots: { contextEngine: "lossless" } } },
      ),
    ),
  );
  const [one, two] = hosts;
  assert.ok(one && two);
  t.after(() => hosts.forEach((host) => host.remove()));
  const asked = async (setting: typeof one, prompt: string, session: string): Promise<string> => {
    const { code, stderr } = await run(setting, prompt, "--session", session);
    assert.equal(code, 0, stderr);
    const request = model.requests.at(-1);
    assert.ok(request);
    return JSON.stringify(request.body);
  };
  await asked(one, "The heron nests under the old drawbridge.", "birds");
  await asked(one, "The tides are late.", "tides");
  await asked(two, "Hello.", "talk");
  assert.match(await asked(two, "Look for it.", "talk"), /The heron nests under the old drawbridge\./);
  await asked(one, "It has moved to the mill with the heron's young.", "birds");
  assert.match(await asked(two, "Look for it again.", "talk"), /moved to the mill/, "also what followed");
  const listed = await finish(two, ["lossless", "search", "heron drawbridge", "--all"]);
  assert.match(listed.stdout, /drawbridge/);
  assert.equal((await finish(one, ["sessions", "delete", "birds", "--yes"])).code, 0);
  const gone = await finish(two, ["lossless", "search", "drawbridge mill", "--all"]);
  // What the model was shown is in its own session; nothing of the deleted one is.
  assert.doesNotMatch(gone.stdout, /^birds /m);
  const sessions = await finish(two, ["sessions", "search", "drawbridge"]);
  assert.doesNotMatch(sessions.stdout, /^birds /m);
});

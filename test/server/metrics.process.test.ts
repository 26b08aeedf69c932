/** What a monitoring program reads of a server. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { startServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

function valueOf(text: string, name: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  assert.ok(line, `${name} in\n${text}`);
  return Number(line.slice(name.length + 1));
}

it("metrics show what runs, waits and ended, need a token, and have no words of a conversation", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const model = await startServer({
    protocol: "openai-completions",
    script: async () => {
      await gate;
      return { text: "A shell is found." };
    },
  });
  const setting = makeSetting(modelConfig("openai-completions", model.url));
  const server = await ServeProcess.start(setting);
  try {
    const token = (
      await finish(setting, ["token", "create", "--name", "monitor", "--scope", "read"])
    ).stdout.trim();
    const read = async (): Promise<string> => {
      const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
      return answer.text();
    };
    assert.equal((await fetch(`${server.url}/metrics`)).status, 401);
    const path = "/api/v1/sessions/hidden-key/turns";
    const first = await server.call("POST", path, { prompt: "hidden words" });
    const second = await server.call("POST", path, { prompt: "more hidden words" });
    while (model.requests.length === 0) await new Promise(setImmediate);
    const busy = await read();
    assert.equal(valueOf(busy, 'pagurus_work_open{state="running"}'), 1);
    assert.equal(valueOf(busy, 'pagurus_work_open{state="waiting"}'), 1);
    assert.equal(valueOf(busy, "pagurus_turns_running"), 1);
    assert.ok(valueOf(busy, "process_resident_memory_bytes") > 10_000_000);
    assert.doesNotMatch(busy, /hidden/);
    open();
    for (const { body } of [first, second]) await server.ended(String(body["id"]));
    while (!(await read()).includes('pagurus_work_ended_total{outcome="completed"} 2'))
      await new Promise(setImmediate);
    assert.equal(valueOf(await read(), 'pagurus_work_open{state="running"}'), 0);
  } finally {
    open();
    await server.kill();
    await model.close();
    setting.remove();
  }
});

/** `pagurus status` names the callers of this machine's server. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ServeProcess } from "../../server/serve-setting.ts";
import { makeSetting, modelConfig, start } from "../../turn/setting.ts";

test("pagurus status lists the server's address, its tokens and each browser login until it is ended", async (t) => {
  const setting = makeSetting();
  const config = modelConfig("openai-completions", "http://127.0.0.1:9");
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  t.after(() => setting.remove());
  const status = async (...more: string[]): Promise<string> => {
    const { code, stdout, stderr } = await start(setting, ["status", ...more]).finished;
    assert.equal(code, 0, stderr);
    return stdout;
  };
  assert.doesNotMatch(await status(), /^Open:|browser login/m);

  const server = await ServeProcess.start(setting);
  t.after(() => server.kill());
  const { body } = await server.call("POST", "/api/v1/browser-codes", { scope: "read" });
  const code = /#\/sign-in\/([\w-]+)$/.exec(String(body["url"]))?.[1];
  assert.equal((await server.call("POST", "/sign-in", { code }, { authorization: "" })).status, 200);
  assert.equal((await start(setting, ["token", "create", "--name", "phone"]).finished).code, 0);

  const text = await status();
  assert.ok(text.includes(`Open:        server at ${server.url}, since `), text);
  assert.match(text, /^ +1 valid token \(pagurus token list\)\n +1 browser login\n/m);
  const [, id = ""] = /^ +(browser-[0-9a-f]{12}): scope read, since [^,]+, until [^;]+;/m.exec(text) ?? [];
  const { open } = JSON.parse(await status("--json")) as { open: { browsers: { id: string }[] } };
  assert.deepEqual(
    open.browsers.map((login) => login.id),
    [id],
  );

  assert.equal((await start(setting, ["token", "revoke", id]).finished).code, 0);
  assert.match(await status(), /^ +0 browser logins$/m);
  await server.kill();
  assert.doesNotMatch(await status(), /^Open:|browser login/m);
});

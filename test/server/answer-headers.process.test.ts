/** Headers that every answer of a server has, whatever its route, method and status. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

const OTHERS = [
  ["GET", "/health"],
  ["GET", "/metrics"],
  ["GET", "/inspector/"],
  ["GET", "/inspector/none.js"],
  ["GET", "/sign-in"],
  ["POST", "/sign-in"],
  ["POST", "/sign-out"],
  ["POST", "/hooks/none"],
  ["GET", "/acp"],
  ["POST", "/acp"],
  ["GET", "/v1/models"],
  ["GET", "/v1/none"],
  ["POST", "/v1/chat/completions"],
  ["POST", "/v1/messages"],
  ["POST", "/v1/responses"],
  ["GET", "/api/v1/openapi.json"],
  ["GET", "/api/v1/none"],
  ["OPTIONS", "/api/v1/sessions"],
  ["GET", "/"],
] as const;

describe("every answer of a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "hello" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  async function check(method: string, path: string, init: RequestInit = {}): Promise<number> {
    const abort = AbortSignal.timeout(60_000);
    const answer = await fetch(`${server.url}${path}`, {
      method,
      signal: abort,
      redirect: "manual",
      ...init,
    });
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff", `${method} ${path}`);
    assert.equal(answer.headers.get("cross-origin-resource-policy"), "same-origin", `${method} ${path}`);
    await answer.body?.cancel();
    return answer.status;
  }

  it("says that its type is not guessed and that other origins do not embed it", async () => {
    const headers = { authorization: `Bearer ${server.key}` };
    const posted = await server.call("POST", "/api/v1/sessions/a/turns", { prompt: "x" });
    await server.ended(String(posted.body["id"]));
    const { body } = await server.call("GET", "/api/v1/openapi.json");
    const routes = Object.entries(body["paths"] as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
    );
    assert.ok(routes.length > 50);
    for (const [method, template] of routes) {
      const path = template.replaceAll(/\{\w+\}/g, "a");
      const init = method === "GET" ? {} : { body: "{}" };
      await check(method, path, { ...init, headers });
      assert.equal(await check(method, path, init), 401);
    }
    for (const [method, path] of OTHERS) {
      await check(method, path, { headers });
      await check(method, path);
    }
    const stream = { model: "test/model", stream: true, messages: [{ role: "user", content: "x" }] };
    const asked = { headers, body: JSON.stringify(stream) };
    assert.equal(await check("POST", "/v1/chat/completions", asked), 200);
    for (const format of ["markdown", "jsonl"])
      assert.equal(await check("GET", `/api/v1/sessions/a/export?format=${format}`, { headers }), 200);
    assert.equal(await check("GET", "/api/v1/sessions", { headers: { ...headers, origin: "null" } }), 403);
  });
});

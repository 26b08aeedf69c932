/** The direct surfaces of a provider at `pagurus serve`: passed on with the host's key, refused in a sentence, ended with their client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { after, before, describe, it } from "node:test";
import { PIXEL, SPOKEN, SURFACE_KEY, WORDS } from "../servers/surface-server.ts";
import { finish } from "../turn/setting.ts";
import { postedOf, soundForm, SurfaceSetting } from "./surfaces-setting.ts";

describe("a request to a direct surface", () => {
  let setting: SurfaceSetting;
  let token: string;
  before(async () => {
    setting = await SurfaceSetting.start();
    token = await setting.token("--name", "client", "--scope", "chat");
  });
  after(() => setting.close());

  it("passes on with the provider's name of the model and the host's key, and its answer as it is", async () => {
    const asked = {
      model: "lab/embeds",
      input: ["one", "two"],
      dimensions: 256,
      user: "u",
      unknown: { a: 1 },
    };
    const headers = { "openai-organization": "org-secret", "x-api-key": "client-key" };
    const { status, json } = await setting.post("/embeddings", asked, { token, headers });
    assert.equal(status, 200);
    assert.equal((json["data"] as unknown[]).length, 2);
    const sent = setting.provider.requests.at(-1);
    assert.equal(sent?.path, "/embeddings");
    assert.deepEqual(sent.fields, { ...asked, model: "embeds" });
    assert.equal(sent.headers.authorization, `Bearer ${SURFACE_KEY}`);
    const all = JSON.stringify(sent.headers);
    for (const secret of [token, "org-secret", "client-key"]) assert.ok(!all.includes(secret), secret);
  });

  it("makes images from a prompt and from a form, also as a stream of events", async () => {
    const asked = { model: "lab/paints", prompt: "a crab", n: 2 };
    const made = await setting.post("/images/generations", asked, { token });
    assert.equal((made.json["data"] as { b64_json: string }[])[1]?.b64_json, PIXEL);
    const streamed = await setting.post("/images/generations", { ...asked, stream: true }, { token });
    assert.match(streamed.type, /^text\/event-stream/);
    assert.match(streamed.bytes.toString("utf8"), /event: image_generation\.completed\ndata: \{.*"usage"/);
    const form = new FormData();
    form.append("image", new File([Buffer.from(PIXEL, "base64")], "in.png", { type: "image/png" }));
    form.append("model", "lab/paints");
    form.append("prompt", "with a shell");
    assert.equal((await setting.post("/images/edits", form, { token })).status, 200);
    const sent = setting.provider.requests.at(-1);
    assert.equal(sent?.path, "/images/edits");
    assert.deepEqual(sent.fields, {
      image: Buffer.from(PIXEL, "base64").toString("latin1"),
      model: "paints",
      prompt: "with a shell",
    });
  });

  it("speaks: the bytes of the sound are the provider's, and come before its end", async () => {
    const held = setting.provider.hold();
    const answer = await fetch(`${setting.server.url}/v1/audio/speech`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "lab/speaks", input: "Hello.", voice: "alloy" }),
    });
    const reader = answer.body?.getReader();
    assert.ok(reader);
    const chunks = [Buffer.from((await reader.read()).value ?? [])];
    held.release();
    for (let next = await reader.read(); !next.done; next = await reader.read())
      chunks.push(Buffer.from(next.value));
    assert.ok(Buffer.concat(chunks).equals(SPOKEN));
    assert.equal(answer.headers.get("content-type"), "audio/mpeg");
  });

  it("transcribes and translates a form whose model comes last", async () => {
    const transcript = await setting.post(
      "/audio/transcriptions",
      soundForm("lab/writes", { language: "en" }),
      {
        token,
      },
    );
    assert.equal(transcript.json["text"], WORDS);
    const sent = setting.provider.requests.at(-1);
    assert.equal(sent?.fields["model"], "writes");
    assert.equal(sent.fields["language"], "en");
    assert.equal((sent.fields["file"] as string).length, 16_000);
    const plain = soundForm("lab/writes", { response_format: "text" });
    const translated = await setting.post("/audio/translations", plain, { token });
    assert.equal(translated.bytes.toString("utf8"), `${WORDS}\n`);
  });

  it("is sent once, also if the provider fails after it may have done the work", async () => {
    for (const failed of [502, 503, 504]) {
      const before = setting.provider.requests.length;
      setting.provider.fail(failed, { message: "Too late." });
      const asked = { model: "lab/paints", prompt: "x" };
      const { status } = await setting.post("/images/generations", asked, { token });
      setting.provider.recover();
      assert.equal(status, failed);
      assert.equal(setting.provider.requests.length, before + 1);
    }
  });

  it("gets the provider's own error", async () => {
    const error = { message: "Slow down.", type: "requests", param: null, code: "rate_limit_exceeded" };
    setting.provider.fail(429, error);
    const { status, json } = await setting.post(
      "/embeddings",
      { model: "lab/embeds", input: "x" },
      { token },
    );
    setting.provider.fail(400, { message: "Too dark.", code: "moderation_blocked" });
    const refused = await setting.post(
      "/images/generations",
      { model: "lab/paints", prompt: "x" },
      { token },
    );
    setting.provider.recover();
    assert.equal(status, 429);
    assert.deepEqual(json, { error });
    assert.equal(refused.status, 400);
    assert.equal(refused.message, "Too dark.");
  });

  it("is refused in one sentence of OpenAI's form, before anything is sent", async () => {
    const before = setting.provider.requests.length;
    const input = "x";
    const cases: [string, object, number, RegExp][] = [
      ["/embeddings", { input }, 400, /Name the model/],
      ["/embeddings", { model: "embeds", input }, 404, /names no known provider/],
      ["/embeddings", { model: "lab/talks", input }, 404, /not known to serve embeddings.*surfaces/],
      ["/embeddings", { model: "lab/paints", input }, 404, /serves images, not embeddings/],
      ["/embeddings", { model: "other/m", input }, 404, /its API is anthropic-messages/],
      ["/embeddings", { model: "openai/text-embedding-3-small", input }, 400, /subscription/],
      ["/embeddings", soundForm("lab/embeds"), 400, /as JSON/],
      ["/images/generations", { model: "lab/paints", prompt: "x", n: 0 }, 400, /1 to 10/],
      ["/audio/transcriptions", { model: "lab/writes" }, 400, /as a form/],
      ["/realtime", {}, 404, /no \/v1\/realtime here/],
      ["/realtime/client_secrets", {}, 404, /no \/v1\/realtime here/],
      ["/chat/completions", { model: "lab/paints", messages: [] }, 404, /serves images alone/],
    ];
    for (const [path, body, status, sentence] of cases) {
      const refused = await setting.post(path, body, { token });
      assert.equal(refused.status, status, `${path}: ${refused.message}`);
      assert.match(refused.message, sentence);
      assert.match(refused.message, /^[^\n]{20,400}[.?]$/, "one sentence");
    }
    const got = await setting.server.call("GET", "/v1/embeddings");
    assert.equal(got.status, 404);
    assert.equal(setting.provider.requests.length, before);
  });

  it("finds no WebSocket at /v1/realtime", async () => {
    const asked = httpRequest({
      port: setting.server.port,
      path: "/v1/realtime?model=lab/talks",
      headers: {
        authorization: `Bearer ${token}`,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      },
    }).end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    assert.equal(response.statusCode, 404);
    assert.match(Buffer.concat(chunks).toString("utf8"), /There is no WebSocket at \/v1\/realtime here/);
  });

  it("is for the models of the list, beside those that talk", async () => {
    const { body } = await setting.server.call("GET", "/v1/models");
    const ids = (body["data"] as { id: string }[])
      .map(({ id }) => id)
      .filter((id) => !id.startsWith("agent/"));
    assert.deepEqual(ids, [
      "lab/talks",
      "other/m",
      "lab/embeds",
      "lab/paints",
      "lab/speaks",
      "lab/unpriced",
      "lab/writes",
    ]);
    assert.equal((await setting.server.call("GET", "/v1/models/lab/paints")).status, 200);
  });

  it("needs the scope chat, a session of the token, and the agent that it is counted for", async () => {
    const asked = { model: "lab/embeds", input: "x" };
    const headers = { "x-pagurus-session": "other-1" };
    const tokens = {
      read: await setting.token("--name", "read", "--scope", "read"),
      session: await setting.token("--name", "fam", "--scope", "chat", "--session", "fam-*"),
      agent: await setting.token("--name", "agent", "--scope", "chat", "--agent", "helper"),
    };
    const before = setting.provider.requests.length;
    assert.equal((await setting.post("/embeddings", asked, { token: "none" })).status, 401);
    assert.equal((await setting.post("/embeddings", asked, { token: tokens.read })).status, 403);
    assert.equal((await setting.post("/embeddings", asked, { token: tokens.agent })).status, 404);
    assert.equal((await setting.post("/embeddings", asked, { token: tokens.session, headers })).status, 404);
    assert.equal(setting.provider.requests.length, before);
    const own = { "x-pagurus-session": "fam-1" };
    const passed = await setting.post("/embeddings", asked, { token: tokens.session, headers: own });
    assert.equal(passed.status, 200);
  });

  it("ends at the provider when its client leaves", async () => {
    const held = setting.provider.hold();
    const controller = new AbortController();
    const asked = fetch(`${setting.server.url}/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "lab/paints", prompt: "slow" }),
      signal: controller.signal,
    });
    const { left } = await held.begun;
    controller.abort();
    await assert.rejects(asked);
    await left;
    held.release();
  });

  it("ends here and at the provider when its token is revoked, before its answer and in it", async () => {
    for (const [path, body] of [
      ["/images/generations", { model: "lab/paints", prompt: "slow" }],
      ["/audio/speech", { model: "lab/speaks", input: "slow", voice: "alloy" }],
    ] as const) {
      const name = `short ${path}`;
      const secret = await setting.token("--name", name, "--scope", "chat");
      const held = setting.provider.hold();
      const asked = fetch(`${setting.server.url}/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const { left } = await held.begun;
      if (path === "/audio/speech") await asked;
      assert.equal((await finish(setting.setting, ["token", "revoke", name])).code, 0);
      await left;
      held.release();
      if (path === "/audio/speech") await assert.rejects((await asked).arrayBuffer());
      else assert.equal((await postedOf(await asked)).status, 401);
    }
  });
});

describe("a body that is too long for the server", () => {
  it("is refused before anything of it is sent", async () => {
    const setting = await SurfaceSetting.start({ server: { maxBodyBytes: 65_536 } });
    try {
      const { status, message } = await setting.post(
        "/audio/transcriptions",
        soundForm("lab/writes", {}, 100_000),
      );
      assert.equal(status, 413);
      assert.match(message, /larger than 65536 bytes/);
      assert.equal(setting.provider.requests.length, 0);
    } finally {
      await setting.close();
    }
  });
});

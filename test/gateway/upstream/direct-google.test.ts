/** Paths and keys of clients of Google's API, which write the API's version themselves and may have their key in the query. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { captureNumbers, readCapture, readPart } from "../../../packages/gateway/src/capture/read-capture.ts";
import { DirectTarget } from "../../../packages/gateway/src/upstream/direct-request.ts";
import { addressOf } from "../../../packages/gateway/src/server/admit-request.ts";
import { plainFault } from "../../../packages/gateway/src/server/faults.ts";
import { Captures } from "../capture/setting.ts";
import { askRaw, plainAnswer, withSetting } from "../passthrough-setting.ts";
import { atPort, sized, TURNS } from "../passthrough-traffic.ts";
import { until } from "../../runner/until.ts";

const METHOD = "/models/gemini-3-pro:streamGenerateContent";
const KEY = "AIza-key-of-the-harness";

function joined(base: string, path: string, isHosts = false): string {
  return new DirectTarget(new URL(base), {}, isHosts).pathAt(path);
}

describe("the path of a request to Google's API", () => {
  it("has one version, whichever of base and path has one", () => {
    for (const base of ["https://a.example/v1beta", "https://a.example/v1beta/", "https://a.example"])
      assert.equal(joined(base, `/v1beta${METHOD}?alt=sse`), `/v1beta${METHOD}?alt=sse`);
    assert.equal(joined("https://a.example/v1beta", `${METHOD}?alt=sse`), `/v1beta${METHOD}?alt=sse`);
    assert.equal(joined("https://a.example/proxy/v1beta", `/v1beta${METHOD}`), `/proxy/v1beta${METHOD}`);
    assert.equal(joined("https://a.example/proxy", `/v1beta${METHOD}`), `/proxy/v1beta${METHOD}`);
  });

  it("keeps the version that the client asks for", () => {
    assert.equal(joined("https://a.example/v1beta", `/v1alpha${METHOD}`), `/v1alpha${METHOD}`);
    assert.equal(joined("https://a.example/v1", `/v1beta${METHOD}`), `/v1beta${METHOD}`);
    assert.equal(joined("https://a.example/v1beta", `/v1${METHOD}`), `/v1${METHOD}`);
    assert.equal(joined("https://a.example/v1beta", "/upload/v1beta/files"), "/upload/v1beta/files");
    assert.equal(addressOf(`/t/token/v1${METHOD}?alt=sse`).path, `/v1${METHOD}`);
    assert.equal(addressOf("/v1/models").path, "/models");
    assert.equal(joined("https://a.example/v1", "/v1/chat/completions"), "/v1/v1/chat/completions");
  });

  it("has no key of the harness for a model of the host, and all of the query otherwise", () => {
    const base = "https://a.example/v1beta";
    const path = `${METHOD}?key=${KEY}&alt=sse&access_token=t`;
    assert.equal(joined(base, path, true), `/v1beta${METHOD}?alt=sse`);
    assert.equal(joined(base, `${METHOD}?key=${KEY}`, true), `/v1beta${METHOD}`);
    assert.equal(joined(`${base}?team=1`, `${METHOD}?key=${KEY}`, true), `/v1beta${METHOD}?team=1`);
    assert.equal(joined(base, path), `/v1beta${path}`);
  });
});

describe("a key in the query of a client", () => {
  it("reaches the harness's own provider, and neither captures nor the log nor a model of the host", async () => {
    const answer = plainAnswer(200, ["Content-Type", "application/json"], Buffer.from(`{"echo":"${KEY}"}`));
    const turn = TURNS["google-generative-ai"];
    for (const isHosts of [false, true]) {
      const captures = new Captures();
      try {
        await withSetting(
          {
            api: "google-generative-ai",
            answer: (socket) => socket.write(answer),
            capture: captures.log,
            ...(isHosts ? { upstream: { isHosts, headers: { "x-goog-api-key": "host-key" } } } : {}),
          },
          async (made) => {
            const request = atPort({ ...turn, path: `${turn.path}&key=${KEY}` }, made.port);
            assert.equal((await askRaw(made, sized(request, made.token))).status, 200);
            await until(() => made.facts.length === 1);
            const { line, headers } = made.endpoint.asked[0] ?? assert.fail("nothing was sent");
            assert.equal(line.includes(KEY), !isHosts);
            const keys = headers.flatMap((name, at) =>
              name.toLowerCase() === "x-goog-api-key" ? [headers[at + 1]] : [],
            );
            assert.deepEqual(keys, [isHosts ? "host-key" : "sk-harness-own-key"]);
            made.log.assertWithout([KEY, made.token]);
          },
        );
        await captures.log.settled();
        const session = { home: captures.home, agentId: "main", sessionKey: "main" };
        const [number = -1] = captureNumbers(session);
        const record = readCapture(session, number) ?? assert.fail("nothing was captured");
        assert.equal(record.path, `${turn.path}&key=${"*".repeat(KEY.length)}`);
        assert.ok(!JSON.stringify(record).includes(KEY));
        for (const part of ["harness", "answer"] as const)
          assert.ok(!(readPart(session, record, part)?.bytes ?? Buffer.alloc(0)).includes(KEY));
      } finally {
        captures.remove();
      }
    }
  });
});

it("a failure before a dialect is known has Google's form on the paths of its API", () => {
  const { status, body } = plainFault(`/v1beta${METHOD}`, "unauthorized", "The request has no valid token.");
  assert.deepEqual(JSON.parse(body.toString()), {
    error: { code: 401, message: "The request has no valid token.", status: "UNAUTHENTICATED" },
  });
  assert.equal(status, 401);
  assert.match(plainFault("/models/m:countTokens", "internal", "No.").body.toString(), /"INTERNAL"/);
  assert.match(plainFault("/models", "not_found", "No.").body.toString(), /"not_found"/);
});

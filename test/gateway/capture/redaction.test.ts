import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  redactBytes,
  Redactor,
  redactHeaders,
  messageSecrets,
} from "../../../packages/gateway/src/capture/redact.ts";
import { Captures, facts } from "./setting.ts";

const KEY = "sk-test-0123456789/+abc";

test("values of secret headers are masked, names and order stay, and a provider's rate limits are not secret", () => {
  const headers = [
    ["Authorization", `Bearer ${KEY}`],
    ["x-api-key", "a"],
    ["Cookie", "a=b"],
    ["Set-Cookie", "a=b"],
    ["Proxy-Authorization", "Basic eA=="],
    ["x-goog-api-key", "g"],
    ["X-Pagurus-Token", "t"],
    ["x-my-secret", "s"],
    ["x-amz-security-token", "z"],
  ];
  const open = [
    ["Content-Type", "application/json"],
    ["x-ratelimit-remaining-tokens", "4000"],
  ];
  assert.deepEqual(redactHeaders([...headers, ...open].flat(), []), [
    ...headers.map(([name]) => [name, "[redacted]"]),
    ...open,
  ]);
});

test("a key is masked wherever it occurs: in bodies, the path, other headers, the answer and the error", async (t) => {
  const place = new Captures();
  t.after(() => place.remove());
  const body = Buffer.from(
    JSON.stringify({ messages: [{ role: "user", content: `env: ${KEY}; "\\" ${KEY}` }] }),
  );
  const request = place.log.begin(
    facts(body, {
      path: `/chat/completions?beta=true&key=url-secret-1&x=${encodeURIComponent(KEY)}`,
      rawHeaders: [
        "Authorization",
        `Bearer ${KEY}`,
        "x-echo",
        `<${KEY}>`,
        "cookie",
        "theme=darkness; sid=0123456789abcdef",
      ],
    }),
  );
  const sent = Buffer.from(
    `{"a":"${KEY}","b":"host-credential","c":"url-secret-1","d":"0123456789abcdef","e":"darkness"}`,
  );
  request.sent("up", [sent.subarray(0, 10), sent.subarray(10)], {
    replaced: true,
    secrets: ["host-credential"],
  });
  request.answered({ status: 401, rawHeaders: ["set-cookie", "s=fedcba9876543210; Path=/"] });
  const answer = Buffer.from(`wrong key ${KEY} ${KEY.slice(0, 9)} fedcba9876543210`);
  for (const byte of answer) request.chunk(Buffer.from([byte]));
  request.end({ cut: false, left: false, answeredBy: "upstream", error: `refused ${KEY}` });
  await place.log.settled();

  const all = place
    .files()
    .map((name) => readFileSync(join(place.folder(), name), "latin1"))
    .join("\n");
  for (const secret of [
    KEY,
    encodeURIComponent(KEY),
    "host-credential",
    "url-secret-1",
    "0123456789abcdef",
    "fedcba9876543210",
  ]) {
    assert.ok(!all.includes(secret), secret);
  }
  const stars = "*".repeat(KEY.length);
  assert.equal(place.bytes("000001.harness.bin").toString(), body.toString().replaceAll(KEY, stars));
  assert.equal(
    place.bytes("000001.answer.bin").toString(),
    `wrong key ${stars} ${KEY.slice(0, 9)} ${"*".repeat(16)}`,
  );
  assert.equal(place.bytes("000001.sent.bin").length, sent.length);
  assert.ok(place.bytes("000001.sent.bin").includes("darkness"));
  const record = place.json(1);
  const [first] = record.sent;
  assert.deepEqual(
    [
      record.harness.redacted,
      typeof first?.body === "object" && first.body.redacted,
      record.answer?.body?.redacted,
    ],
    [2, 4, 2],
  );
  assert.match(record.path, /^\/chat\/completions\?beta=true&key=\*{12}&x=\*+$/);
  assert.deepEqual(record.headers[1], ["x-echo", `<${stars}>`]);
  assert.equal(record.outcome?.error, `refused ${stars}`);
});

test("short values are masked only in their headers, and the conversation's text stays", () => {
  const secrets = messageSecrets(["x-api-key", "dummy", "authorization", "Bearer x"], "/v1?key=abc");
  assert.deepEqual(secrets, []);
  const body = Buffer.from("a dummy abc x");
  assert.equal(redactBytes(body, ["dummy"]).bytes, body);
});

test("the same places are masked for any chunk boundaries", () => {
  const alphabet = fc.constantFrom("a", "b", "ab", "aab");
  const text = fc.array(alphabet, { maxLength: 60 }).map((parts) => parts.join(""));
  const secret = fc.array(alphabet, { minLength: 8, maxLength: 10 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.array(secret, { maxLength: 3 }), fc.array(fc.nat(9)), (around, secrets, cuts) => {
      const bytes = Buffer.from(around + secrets.join(around) + around);
      const expected = Buffer.from(bytes);
      for (const one of secrets) {
        for (let at = bytes.indexOf(one); at >= 0; at = bytes.indexOf(one, at + 1))
          expected.fill("*", at, at + one.length);
      }
      const redactor = new Redactor(secrets);
      const out: Buffer[] = [];
      let from = 0;
      for (const cut of cuts) {
        out.push(redactor.take(bytes.subarray(from, from + cut)));
        from += cut;
      }
      out.push(redactor.take(bytes.subarray(from)), redactor.end());
      assert.equal(Buffer.concat(out).toString(), expected.toString());
      assert.equal(redactor.count, redactBytes(bytes, secrets).count);
    }),
  );
});

test("masking does not change the caller's bytes", () => {
  const body = Buffer.from(`{"a":"${KEY}"}`);
  const before = Buffer.from(body);
  redactBytes(body, [KEY]);
  assert.ok(body.equals(before));
});

test("a secret that is the start of another one is counted once, for any chunk boundaries", () => {
  const redactor = new Redactor(["abcdefgh", "abcdefghij"]);
  const out = Array.from("<abcdefghx>", (letter) => redactor.take(Buffer.from(letter)));
  assert.equal(Buffer.concat([...out, redactor.end()]).toString(), "<********x>");
  assert.equal(redactor.count, 1);
});

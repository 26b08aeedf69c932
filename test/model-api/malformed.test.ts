/** Requests that are not of their protocol's shape: each is refused in the protocol's error shape, none is the server's failure. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { byLength } from "../runner/short-form.ts";
import { mutated, VALID } from "./mutations.ts";
import { ApiBench } from "./setting.ts";

const NULL_MESSAGES: readonly [string, object][] = [
  ["/chat/completions", { model: "test/model", messages: [null] }],
  ["/chat/completions", { model: "test/model", messages: [{ role: "user", content: "a" }, null] }],
  ["/chat/completions", { model: "test/model", messages: [{ role: "user", content: [null] }] }],
  ["/chat/completions", { model: "test/model", messages: "x" }],
  ["/chat/completions", { model: "test/model" }],
  ["/messages", { model: "test/model", max_tokens: 9, messages: [null] }],
  ["/messages", { model: "test/model", max_tokens: 9, messages: [{ role: "user", content: 5 }] }],
  ["/responses", { model: "test/model", input: [null] }],
  ["/responses", { model: "test/model", input: [{ role: "user", content: [7] }] }],
  ["/responses", { model: 5, input: "x" }],
  ["/responses/compact", { model: "test/model", input: [[]] }],
];

const NAMES = 200;

describe("a request of the model API", () => {
  let bench: ApiBench;
  before(async () => {
    bench = await ApiBench.open("openai-completions", () => ({ text: "ok" }));
  });
  after(async () => {
    await bench.end();
  });

  function assertErrorShape(path: string, { status, text }: { status: number; text: string }): void {
    const body = JSON.parse(text) as { type?: string; error?: { type?: string; message?: string } };
    assert.ok((body.error?.message ?? "") !== "", `${path} ${status}: ${text.slice(0, 300)}`);
    assert.ok((body.error?.type ?? "") !== "", text.slice(0, 300));
    if (path.startsWith("/messages")) assert.equal(body.type, "error");
  }

  it("with a member of another kind is a 400 that names the member", async () => {
    for (const [path, body] of NULL_MESSAGES) {
      const answer = await bench.post(path, body);
      assert.equal(answer.status, 400, `${path} ${JSON.stringify(body)}: ${answer.text}`);
      assertErrorShape(path, answer);
      assert.match(answer.text, /messages|input|model/);
    }
  });

  it("with a session's name that no session can have is a 400", async () => {
    for (const [path, [body = {}] = []] of Object.entries(VALID)) {
      if (path.includes("count") || path.includes("compact")) continue;
      for (const key of ["a b", "../x", "%00", "-", "x".repeat(500), ""]) {
        const answer = await bench.post(path, body, { "x-pagurus-session": key });
        assert.equal(answer.status, 400, `${path} ${key}: ${answer.text}`);
        assertErrorShape(path, answer);
      }
    }
  });

  it("is answered without a failure of the server, whatever is changed in it", async () => {
    const made = fc.sample(mutated, { numRuns: byLength(10_000, 1_500, 400), seed: 20_261_129 });
    let answered = 0;
    for (const [at, { path, body }] of made.entries()) {
      // A session for each request would be a folder of thousands, through which each new one looks.
      const session: Record<string, string> =
        at % 10 === 0 ? {} : { "x-pagurus-session": `fuzz-${at % NAMES}` };
      const response = await fetch(`${bench.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...session },
        body,
      });
      const text = await response.text();
      if (response.status === 200) answered += 1;
      else assertErrorShape(path, { status: response.status, text });
      assert.ok(response.status < 500, `${path} ${body.slice(0, 1_000)}: ${response.status} ${text}`);
    }
    assert.ok(answered > made.length / 10, `${answered} of ${made.length} were answered`);
  });
});

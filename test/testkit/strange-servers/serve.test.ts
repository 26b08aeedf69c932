/** `serve` and the suite of strange servers: each API of the server in front of models of each protocol. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { strangeAnswers } from "../../../packages/testkit/src/index.ts";
import { STRANGE_PROTOCOLS } from "../../../packages/testkit/src/strange-servers/strange-answer.ts";
import { ApiBench } from "../../model-api/setting.ts";
import { everyNth } from "../../runner/short-form.ts";
import { SERVE_APIS, serveProblems } from "./serve-door.ts";

for (const protocol of STRANGE_PROTOCOLS)
  for (const api of SERVE_APIS)
    describe(`the API ${api.api} in front of a strange server of ${protocol}`, () => {
      it("gives each answer its right result", async () => {
        const answers = strangeAnswers().filter((answer) => answer.protocol === protocol);
        assert.deepEqual(await serveProblems(api, everyNth(answers, 23)), []);
      });
    });

describe("the server's APIs", () => {
  it("have no address of Gemini's protocol: a model is asked through the three others", async () => {
    const bench = await ApiBench.open("google", [{ text: "hello" }]);
    try {
      const body = { contents: [{ role: "user", parts: [{ text: "Say hello." }] }] };
      const { status } = await bench.post("/models/test/model:generateContent", body);
      assert.equal(status, 404);
    } finally {
      await bench.end();
    }
  });
});

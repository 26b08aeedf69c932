/** Heartbeats of a real server: turns without a user, kept out of the conversation where there is nothing to say. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe } from "node:test";
import { startServer } from "../servers/server.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { makeSetting, modelConfig } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { longTest } from "../runner/long-tests.ts";

describe("a heartbeat", () => {
  longTest(
    "that finds nothing is not in the next turn's context, and one that finds something is",
    async () => {
      let found = "HEARTBEAT_OK";
      const model = await startServer({
        protocol: "openai-completions",
        script: (request) => {
          const text = readBody("openai-completions", request).messages.at(-1)?.text ?? "";
          return { text: text.includes("Check the oven") ? found : "Yes." };
        },
      });
      const heartbeat = { every: "1s", prompt: "Check the oven.", session: "kitchen" };
      const setting = makeSetting(
        modelConfig("openai-completions", model.url, {}, { agents: { defaults: { heartbeat } } }),
      );
      const server = await ServeProcess.start(setting);
      const beats = (): number => model.requests.filter(({ text }) => text.includes("Check the oven")).length;
      const ask = async (prompt: string): Promise<string[]> => {
        const posted = await server.call("POST", "/api/v1/sessions/kitchen/turns", { prompt });
        await server.ended(String(posted.body["id"]));
        // Not one of a later heartbeat, which has the prompt as history.
        const sent = model.requests.map((each) => readBody("openai-completions", each).messages);
        const messages = sent.findLast((each) => each.at(-1)?.text.includes(prompt));
        assert.ok(messages);
        return messages.map(({ text }) => text);
      };
      try {
        while (beats() < 2) await pause(50);
        assert.deepEqual(await ask("Are you there?"), ["Are you there?"]);
        found = "The cake is burning!";
        const before = beats();
        while (beats() < before + 2) await pause(50);
        const texts = await ask("What happened?");
        assert.ok(texts.includes("Check the oven."));
        assert.ok(texts.includes("The cake is burning!"));
        const { body } = await server.call("GET", "/api/v1/sessions/kitchen/work");
        assert.ok(
          (body["work"] as { origin: string }[]).some(({ origin }) => origin === "job:heartbeat-main"),
        );
      } finally {
        await server.kill();
        await model.close();
        setting.remove();
      }
    },
  );
});

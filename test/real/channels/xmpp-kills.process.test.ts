/** Messages over XMPP while the host is killed and the service restarted, again and again. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { createPagurus } from "../../../src/create.ts";
import { messageText } from "../../../src/command/rewind.ts";
import { FULL } from "../../runner/short-form.ts";
import { startServer } from "../../servers/server.ts";
import { Prosody } from "../../servers/prosody.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { finish, makeSetting, modelConfig } from "../../turn/setting.ts";
import { XmppPerson } from "./xmpp-person.ts";

const MESSAGES = FULL ? 1_000 : 40;
const KILL_EVERY_MS = 1_500;
const LEAST_KILLS = FULL ? 100 : 6;
/** One of so many kills is of the service. */
const SERVICE_EVERY = 4;
describe("a channel over XMPP under kills", () => {
  it("gives every message one turn and one answer, in order", async () => {
    const prosody = await Prosody.start(["crab", "ann"]);
    const model = await startServer({
      protocol: "openai-completions",
      script: ({ body }) => {
        const last = (body["messages"] as { content: unknown }[]).at(-1);
        return { text: `Answer to ${String(last?.content)}` };
      },
    });
    const home = {
      kind: "xmpp",
      jid: "crab@localhost",
      password: "crab",
      service: prosody.service,
      allow: ["ann@localhost"],
    };
    const longest = { contextWindow: 1_000_000 };
    const setting = makeSetting(
      modelConfig("openai-completions", model.url, longest, { channels: { home } }),
    );
    const ann = new XmppPerson("ann", prosody.service);
    const server = await ServeProcess.start(setting);
    // What was written before the first connection would not be for it.
    for (let state = ""; !state.includes("exactly-once");)
      ({ stdout: state } = await finish(setting, ["channels", "list", "--json"]));
    let isOver = false;
    let kills = 0;
    const killing = (async (): Promise<void> => {
      while (!isOver) {
        await pause(KILL_EVERY_MS);
        kills += 1;
        if (kills % SERVICE_EVERY === 0) {
          await prosody.kill("SIGTERM");
          await prosody.begin();
        }
        await server.kill();
        await server.begin();
      }
    })();
    try {
      const words = Array.from({ length: MESSAGES }, (_, index) => `message ${index}`);
      for (const [index, text] of words.entries()) await ann.insist(text, `m-${index}`);
      const answersOf = async (): Promise<string[]> =>
        (await ann.insistOnArchive())
          .filter(({ from }) => from === "crab@localhost")
          .map(({ text: own }) => own);
      while ((await answersOf()).length < MESSAGES || kills < LEAST_KILLS) await pause(200);
      isOver = true;
      await killing;
      // What a resumed host might send twice comes after its start.
      await pause(2_000);
      assert.deepEqual(
        await answersOf(),
        words.map((text) => `Answer to ${text}`),
      );
      await server.kill("SIGTERM");
      const pagurus = await createPagurus({ home: setting.home, env: setting.env });
      const reader = pagurus.sessions("main").openReader("home:ann@localhost");
      const inputs: string[] = [];
      for await (const entry of reader.cursor.backward())
        if (entry.type === "message" && entry.message.role === "user")
          inputs.unshift(messageText(entry.message));
      reader.close();
      await pagurus.close();
      assert.deepEqual(inputs, words);
    } finally {
      isOver = true;
      await killing.catch(() => undefined);
      await server.kill();
      await ann.end();
      await model.close();
      await prosody.end();
      setting.remove();
    }
  });
});

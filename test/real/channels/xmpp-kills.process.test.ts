/** Messages over XMPP while the host is killed, the service restarted and the network cut, again and again. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/create.ts";
import { messageText } from "../../../packages/host/src/command/rewind.ts";
import { FULL } from "../../runner/short-form.ts";
import { startServer } from "../../servers/server.ts";
import { Prosody } from "../../servers/prosody.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { finish, makeSetting, modelConfig } from "../../turn/setting.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { Kills } from "./kills.ts";
import { withoutContext } from "./host-context.ts";
import { XmppPerson } from "./xmpp-person.ts";

const MESSAGES = FULL ? 1_000 : 16;
/** Between two looks into the archive of the person, which the server reads as a whole each time. */
const LOOK_MS = FULL ? 5_000 : 200;

describe("a channel over XMPP under kills", () => {
  it("gives every message one turn and one answer, in order", async (t) => {
    const prosody = await Prosody.start(["crab", "ann"]);
    const relay = await CuttingRelay.to(prosody.port);
    const model = await startServer({
      protocol: "openai-completions",
      script: ({ body }) => {
        const last = (body["messages"] as { content: unknown }[]).at(-1);
        return { text: `Answer to ${withoutContext(String(last?.content))}` };
      },
    });
    const home = {
      kind: "xmpp",
      jid: "crab@localhost",
      password: "crab",
      service: `xmpp://127.0.0.1:${relay.port}`,
      allow: ["ann@localhost"],
      waitingPerPerson: 100_000,
      waitingPerSession: 100_000,
    };
    const longest = { contextWindow: 1_000_000 };
    const setting = makeSetting(
      modelConfig("openai-completions", model.url, longest, { channels: { home } }),
    );
    const ann = new XmppPerson("ann", prosody.service);
    const server = await ServeProcess.start(setting);
    // What was written before the first connection would not be for it.
    for (let state = ""; !state.includes("exactly-once"); await pause(50))
      ({ stdout: state } = await finish(setting, ["channels", "list", "--json"]));
    let answers: string[] = [];
    const answered = (): number => answers.length;
    const kills = new Kills({ server, service: prosody, relays: [relay], messages: MESSAGES, answered });
    try {
      const words = Array.from({ length: MESSAGES }, (_, index) => `message ${index}`);
      for (const [index, text] of words.entries()) await ann.insist(text, `m-${index}`);
      const answersOf = async (): Promise<string[]> =>
        (await ann.insistOnArchive())
          .filter(({ from }) => from === "crab@localhost")
          .map(({ text: own }) => own);
      while (answered() < MESSAGES || !kills.areEnough) {
        answers = await answersOf();
        await pause(LOOK_MS);
      }
      await kills.end();
      t.diagnostic(`${MESSAGES} messages: ${String(kills)}`);
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
      await kills.end().catch(() => undefined);
      await server.kill();
      await ann.end();
      await model.close();
      relay.close();
      await prosody.end();
      setting.remove();
    }
  });
});

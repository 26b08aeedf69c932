/** Mails in several threads while the host is killed, the mail servers restarted and the network cut, again and again. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/create.ts";
import { messageText } from "../../../packages/host/src/command/rewind.ts";
import { FULL } from "../../runner/short-form.ts";
import { startServer } from "../../servers/server.ts";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { CuttingRelay } from "./cutting-relay.ts";
import { Kills } from "./kills.ts";
import { CRAB, MailPerson } from "./mail-person.ts";

const MESSAGES = FULL ? 1_000 : 16;
const THREADS = 4;

function wordsIn(text: string): string {
  return /message \d+/.exec(text)?.[0] ?? "";
}

/** What each session was asked, in order. */
async function inputsOf(setting: Setting): Promise<string[][]> {
  const pagurus = await createPagurus({ home: setting.home, env: setting.env });
  const store = pagurus.sessions("main");
  const { stdout } = await finish(setting, ["sessions", "list", "--json"]);
  const keys = new Set([...stdout.matchAll(/"(home:[^"]*)"/g)].map(([, key = ""]) => key));
  const sessions: string[][] = [];
  for (const key of keys) {
    const reader = store.openReader(key);
    const inputs: string[] = [];
    for await (const entry of reader.cursor.backward())
      if (entry.type === "message" && entry.message.role === "user")
        inputs.unshift(wordsIn(messageText(entry.message)));
    reader.close();
    sessions.push(inputs);
  }
  await pagurus.close();
  return sessions;
}

describe("a channel over e-mail under kills", () => {
  it("gives every mail one turn and one answer, in the order of its thread", async (t) => {
    const servers = await MailServers.start(["crab", "ann"]);
    const imap = await CuttingRelay.to(servers.ports.imap);
    const smtp = await CuttingRelay.to(servers.ports.inner);
    const model = await startServer({
      protocol: "openai-completions",
      script: ({ body }) => {
        const last = (body["messages"] as { content: unknown }[]).at(-1);
        return { text: `Answer to ${wordsIn(String(last?.content))}` };
      },
    });
    const home = {
      kind: "email",
      address: CRAB,
      user: "crab",
      password: "crab",
      imap: `imap://127.0.0.1:${imap.port}`,
      smtp: `smtp://127.0.0.1:${smtp.port}`,
      authserv: AUTHSERV,
      allow: ["ann@localhost"],
      answersPerHour: 100_000,
      waitingPerPerson: 100_000,
      waitingPerSession: 100_000,
      lookupSeconds: 10,
    };
    const longest = { contextWindow: 1_000_000 };
    const setting = makeSetting(
      modelConfig("openai-completions", model.url, longest, { channels: { home } }),
    );
    setting.env["NODE_EXTRA_CA_CERTS"] = servers.certificate;
    const ann = new MailPerson("ann", servers);
    const crab = new MailPerson("crab", servers);
    const server = await ServeProcess.start(setting);
    // What was written before the first connection would not be for it.
    for (let state = ""; !state.includes("receives exactly-once"); await pause(50))
      ({ stdout: state } = await finish(setting, ["channels", "list", "--json"]));
    const answered = (): number => new Set(ann.got.map(({ text = "" }) => wordsIn(text))).size;
    const relays = [imap, smtp];
    const kills = new Kills({ server, service: servers, relays, messages: MESSAGES, answered });
    try {
      for (let index = 0; index < MESSAGES; index += 1) {
        const thread = `<thread-${index % THREADS}@localhost>`;
        const id = index < THREADS ? thread : `<m-${index}@localhost>`;
        // A repeat has the same id: the server may have taken the first attempt.
        await ann.insist({
          subject: `Thread ${index % THREADS}`,
          text: `message ${index}`,
          messageId: id,
          ...(index < THREADS ? {} : { references: thread, inReplyTo: thread }),
        });
      }
      while (answered() < MESSAGES || !kills.areEnough) {
        await ann.look();
        await pause(200);
      }
      await kills.end();
      t.diagnostic(`${MESSAGES} mails in ${THREADS} threads: ${String(kills)}`);
      // What a resumed host might send twice comes after its start, and after its look for the copy.
      await pause(home.lookupSeconds * 1_000 + 2_000);
      await ann.look();
      // The server may deliver one mail twice; the host must not hand one over twice, nor with another id.
      const delivered = new Map(ann.got.map((mail) => [mail.messageId ?? "", mail]));
      t.diagnostic(`${ann.got.length - delivered.size} answers delivered twice by the server`);
      const { taken } = servers;
      const repeated = [...delivered.keys()].filter((id) => taken.get(id) !== 1);
      const asLogged = servers.log.split("\n").filter((line) => repeated.some((id) => line.includes(id)));
      assert.deepEqual(repeated, [], `the server took each answer once\n${asLogged.join("\n")}`);
      const answers = [...delivered.values()].map(
        ({ inReplyTo = "", text = "" }) => `${inReplyTo} ${text.trim()}`,
      );
      const wanted = Array.from({ length: MESSAGES }, (_, index) => {
        const id = index < THREADS ? `<thread-${index}@localhost>` : `<m-${index}@localhost>`;
        return `${id} Answer to message ${index}`;
      });
      assert.deepEqual(answers.toSorted(), wanted.toSorted());
      await server.kill("SIGTERM");
      await crab.look();
      const arrived = crab.got
        .filter(({ from }) => from?.value[0]?.address === ann.address)
        .map(({ text = "" }) => wordsIn(text));
      // The servers may deliver a mail after one that was sent later: the order is that of the inbox.
      const order = [...new Set(arrived)];
      const threads = Array.from({ length: THREADS }, (_, thread) =>
        order.filter((words) => Number(words.split(" ")[1]) % THREADS === thread),
      );
      const sessions = await inputsOf(setting);
      assert.deepEqual(
        sessions.toSorted(
          (one, other) =>
            (Number(one[0]?.split(" ")[1]) % THREADS) - (Number(other[0]?.split(" ")[1]) % THREADS),
        ),
        threads,
      );
    } finally {
      await kills.end().catch(() => undefined);
      await server.kill();
      ann.end();
      crab.end();
      await model.close();
      imap.close();
      smtp.close();
      await servers.end();
      setting.remove();
    }
  });
});

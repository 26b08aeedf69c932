/** A person continues one conversation by mail, over IRC, in the terminal and in Codex. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { startServer, type RecordedRequest } from "../../servers/server.ts";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { Ngircd } from "../../servers/ngircd.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { finish, makeSetting, modelConfig, start } from "../../turn/setting.ts";
import { codexBinary } from "../codex-binary.ts";
import { IrcPerson } from "./irc-person.ts";
import { CRAB, MailPerson, textOf } from "./mail-person.ts";

const SESSION = "work";
const WRITTEN = [
  "by mail. mark-1",
  "over IRC. mark-2",
  "in the terminal. mark-3",
  "in Codex. mark-4",
  "by mail again. mark-5",
  "and over IRC. mark-6",
] as const;

function answerTo({ body }: RecordedRequest): string {
  const last = JSON.stringify((body["input"] as { content?: unknown }[]).at(-1)?.content);
  return `Answer to ${/mark-\d/.exec(last)?.[0] ?? "nothing"}`;
}

/** How often each text is in a request, where the first time is at the place of the one before or later. */
function timesIn(request: RecordedRequest | undefined, texts: readonly string[]): number[] {
  const sent = JSON.stringify(request?.body["input"]);
  const places = texts.map((text) => sent.indexOf(text));
  assert.deepEqual(
    places,
    places.toSorted((one, other) => one - other),
    "in the order in which they were written",
  );
  return texts.map((text) => sent.split(text).length - 1);
}

describe("one conversation", () => {
  it("has each message once, wherever it was written", async () => {
    const servers = await MailServers.start(["crab", "ann"]);
    const ngircd = await Ngircd.start();
    const model = await startServer({
      protocol: "openai-responses",
      script: (request) => ({ text: answerTo(request) }),
    });
    const mail = {
      kind: "email",
      address: CRAB,
      user: "crab",
      password: "crab",
      imap: servers.imap,
      smtp: servers.smtp,
      authserv: AUTHSERV,
      allow: ["ann@localhost"],
      session: SESSION,
    };
    const harbour = {
      kind: "irc",
      service: `irc://127.0.0.1:${ngircd.port}`,
      nick: "crab",
      serverPassword: Ngircd.password,
      allow: ["ann!~ann@127.0.0.1"],
      session: SESSION,
    };
    const setting = makeSetting(
      modelConfig(
        "openai-responses",
        model.url,
        { contextWindow: 200_000 },
        {
          channels: { mail, harbour },
          plugins: {
            entries: { codex: { config: { command: codexBinary(), sandbox: "danger-full-access" } } },
          },
        },
      ),
    );
    setting.env["NODE_EXTRA_CA_CERTS"] = servers.certificate;
    const writer = new MailPerson("ann", servers);
    const talker = new IrcPerson("ann", ngircd);
    await talker.connect();
    const server = await ServeProcess.start(setting);
    try {
      for (let state = ""; state.split(/"connected \(receives/).length < 3; await pause(50))
        ({ stdout: state } = await finish(setting, ["channels", "list", "--json"]));
      const [byMail, overIrc, inTerminal, inCodex, byMailAgain, overIrcAgain] = WRITTEN;
      await writer.send({ subject: "Buoys", text: byMail });
      const [first] = await writer.until(1);
      assert.ok(first);
      assert.equal(textOf(first), "Answer to mark-1");
      talker.say("crab", overIrc);
      assert.deepEqual(await talker.until("crab", 1), ["Answer to mark-2"]);
      const terminal = await start(setting, ["run", "--session", SESSION, inTerminal]).finished;
      assert.match(terminal.stdout, /Answer to mark-3/);
      const codex = ["run", "--session", SESSION, "--runtime", "codex", "--json", inCodex];
      assert.match((await start(setting, codex).finished).stdout, /"runtime":"codex"[^]*Answer to mark-4/);
      assert.deepEqual(
        timesIn(
          model.requests.findLast((request) => answerTo(request) === "Answer to mark-4"),
          WRITTEN.slice(0, 4),
        ),
        [1, 1, 1, 1],
      );
      await writer.answer(first, byMailAgain);
      assert.equal(textOf((await writer.until(2)).at(-1)), "Answer to mark-5");
      talker.say("crab", overIrcAgain);
      assert.equal((await talker.until("crab", 2)).at(-1), "Answer to mark-6");
      assert.deepEqual(timesIn(model.requests.at(-1), WRITTEN), [1, 1, 1, 1, 1, 1]);
      const shown = await start(setting, ["sessions", "show", SESSION]).finished;
      for (const text of WRITTEN) assert.equal(shown.stdout.split(text).length, 2, `${text} is shown once`);
    } finally {
      await server.kill();
      writer.end();
      await talker.end();
      await model.close();
      await ngircd.end();
      await servers.end();
      setting.remove();
    }
  });
});

/** What `pagurus channels test` and `doctor` find about e-mail at Debian's postfix and dovecot, beyond a login to read. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { freePort } from "../../server/serve-setting.ts";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { finish, makeSetting, type Setting } from "../../turn/setting.ts";
import { CRAB, MailPerson } from "./mail-person.ts";

describe("a test of an e-mail channel", () => {
  let servers: MailServers;
  let setting: Setting | undefined;
  before(async () => {
    servers = await MailServers.start(["crab", "ann"]);
    servers.trust();
  });
  after(async () => await servers.end());

  async function test(
    more: Record<string, unknown>,
    command: string[],
  ): Promise<{ code: number; text: string }> {
    const account = { address: CRAB, user: "crab", password: "crab", authserv: AUTHSERV };
    const mail = { kind: "email", ...account, imap: servers.imap, smtp: servers.smtp, ...more };
    setting = makeSetting({ channels: { mail } });
    setting.env["NODE_EXTRA_CA_CERTS"] = servers.certificate;
    try {
      const { code, stdout } = await finish(setting, command);
      return { code: code ?? 1, text: stdout };
    } finally {
      setting.remove();
    }
  }

  const channelTest = ["channels", "test"];

  it("fails where no mail can be sent", async () => {
    const smtp = `smtp://127.0.0.1:${await freePort()}`;
    const { code, text } = await test({ smtp }, channelTest);
    assert.equal(code, 1);
    assert.match(
      text,
      /mail \(email\): The channel mail cannot log in at 127\.0\.0\.1 to send mail: .*\[channel_failed\]/,
    );
    assert.match((await test({ smtp }, ["doctor"])).text, /cannot log in at 127\.0\.0\.1 to send mail/);
  });

  it("compares the configured server with the newest mail, and says whether a forged result counts", async () => {
    const empty = await test({}, channelTest);
    assert.match(empty.text, /works; [^]*has no mail of others so far/);
    const ann = new MailPerson("ann", servers);
    await ann.send({ subject: "Buoys", text: "hello" });
    await servers.settled();
    const right = await test({}, channelTest);
    assert.equal(right.code, 0, right.text);
    assert.match(right.text, /does not remove results with its name [^]* do not count/);
    const wrong = await test({ authserv: "mail.example.org" }, channelTest);
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.text,
      /was checked by mx\.localhost, and channels\.mail\.authserv is "mail\.example\.org"/,
    );
    const forged = await test({ authservHops: 1 }, channelTest);
    assert.equal(forged.code, 1);
    assert.match(forged.text, /A forged result of mx\.localhost in a mail counts/);
    const doctor = await test({ authserv: "mail.example.org" }, ["doctor"]);
    assert.match(doctor.text, /with that name no sender is verified/);
    const unchecked = new MailPerson("ann", servers);
    assert.equal((await unchecked.until(0)).length, 0, "the tests leave no mail to others");
    ann.end();
  });
});

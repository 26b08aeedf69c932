/** A mail server that takes small mails alone: the answer arrives, and names the file that is too large for it. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createEmailChannel } from "../../../packages/channels/src/email/email-channel.ts";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { CRAB, MailPerson, textOf } from "./mail-person.ts";

const MOST_BYTES = 50_000;
let servers: MailServers;
before(async () => {
  servers = await MailServers.start(["crab", "ann"], { mostBytes: MOST_BYTES });
  servers.trust();
});
after(async () => {
  await servers.end();
});

it("sends the text where the server takes no file of that size, and reports it", async () => {
  const config = {
    kind: "email",
    address: CRAB,
    user: "crab",
    password: "crab",
    imap: servers.imap,
    smtp: servers.smtp,
    authserv: AUTHSERV,
  };
  const missed: string[] = [];
  const port = {
    cursor: undefined,
    receive: () => Promise.resolve(),
    missed: (sentence: string) => void missed.push(sentence),
  };
  const connection = await createEmailChannel("mail", config, {}).connect(port, new AbortController().signal);
  const ann = new MailPerson("ann", servers);
  try {
    const answer = { to: ann.address, isGroup: false, createdAt: 1_700_000_000_000 };
    const file = { name: "plan.bin", mimeType: "application/octet-stream" };
    const large = { ...file, bytes: new Uint8Array(MOST_BYTES) };
    await connection.send({ ...answer, id: "a-0", text: "Here it is.", attachment: large });
    const small = { ...file, bytes: new Uint8Array(1_000) };
    await connection.send({ ...answer, id: "b-0", text: "", attachment: small });
    const mails = (await ann.until(2)).map(
      (mail) => `${textOf(mail)} ${mail.attachments.map(({ size }) => size).join()}`,
    );
    // The server may deliver the later one first.
    assert.deepEqual(
      new Set(mails),
      new Set([
        'Here it is.\n\n(The file "plan.bin" was not sent: the mail server does not take it.) ',
        " 1000",
      ]),
    );
    assert.equal(missed.length, 1);
    assert.match(missed[0] ?? "", /^The server refused the file "plan\.bin" of a mail to ann@localhost: /);
  } finally {
    ann.end();
    await connection.close();
  }
});

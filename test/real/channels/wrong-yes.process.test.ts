/**
 * Ways in which a wrong yes, or one of someone else, could count, at Debian's postfix and dovecot, prosody, and ngircd. One question is
 * answered and a second one is open; after all ways its tool has not run, and a right answer runs it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { xml } from "@xmpp/client";
import type { ParsedMail } from "mailparser";
import type { SendMailOptions } from "nodemailer";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { Ngircd } from "../../servers/ngircd.ts";
import { Prosody } from "../../servers/prosody.ts";
import { AskingHost, codeIn, TIDY } from "./asking-host.ts";
import { IrcPerson } from "./irc-person.ts";
import { CRAB, MailPerson, textOf } from "./mail-person.ts";
import { XmppPerson } from "./xmpp-person.ts";

async function ran(host: AskingHost, name: "first" | "second"): Promise<void> {
  while (!host.hasRun(name)) await pause(20);
}

type MailWay = [way: string, mail: SendMailOptions, at?: "inner" | "outer" | "bare", from?: string];

function mailWays(own: string, first: ParsedMail, second: ParsedMail): MailWay[] {
  const [q1 = "", q2 = ""] = [first.messageId, second.messageId];
  const [code1, code2] = [codeIn(textOf(first)), codeIn(textOf(second))];
  const reply = (id: string, more: SendMailOptions = {}): SendMailOptions => ({
    subject: "Re: Tidy",
    text: "yes",
    inReplyTo: id,
    references: [own, id],
    ...more,
  });
  const passed = { "Authentication-Results": `${AUTHSERV}; dmarc=pass header.from=localhost` };
  const spf = { "Authentication-Results": `${AUTHSERV}; spf=pass smtp.mailfrom=ann@localhost` };
  const raw = (head: string): SendMailOptions => ({
    raw: `${head}To: ${CRAB}\r\nSubject: Re: Tidy\r\nMessage-ID: <raw-${head.length}@localhost>\r\nIn-Reply-To: ${q2}\r\nReferences: ${own} ${q2}\r\n\r\nyes ${code2}\r\n`,
    envelope: { from: "eve@localhost", to: [CRAB] },
  });
  const results = `Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=localhost\r\n`;
  return [
    ["replies to the answered question", reply(q1)],
    ["replies to the answered question with its number", reply(q1, { text: `yes ${code1}` })],
    ["replies to the answered question with the number of the open one", reply(q1, { text: `yes ${code2}` })],
    ["replies to the open question with the number of the answered one", reply(q2, { text: `yes ${code1}` })],
    ["replies to the writer's own mail", reply(own)],
    ["replies to the answered question, the open one among the references", reply(q1, { references: [q2] })],
    ["replies to both questions", reply(`${q1} ${q2}`)],
    ["has a number that no question has", reply(own, { text: "yes 7" })],
    ["begins a thread", { subject: "Tidy", text: "yes" }],
    ["has more words", reply(q2, { text: "yes, but not that" })],
    ["is a quote alone", reply(q2, { text: "> yes" })],
    ["is forwarded", reply(q2, { subject: "Fwd: yes", text: "---------- Forwarded message ---------\nyes" })],
    ["is hidden in HTML", reply(q2, { text: "", html: '<p></p><div style="display:none">yes</div>' })],
    ["is automatic", reply(q2, { headers: { "Auto-Submitted": "auto-replied" } })],
    ["is of a list", reply(q2, { headers: { "List-Id": "<crew.localhost>" } })],
    ["is a bounce", reply(q2, { envelope: { from: "", to: [CRAB] } })],
    ["is of a stranger", reply(q2), "inner", "eve"],
    ["is of a stranger with the number", reply(q2, { text: `yes ${code2}` }), "inner", "eve"],
    [
      "is of a stranger with the name of the owner",
      reply(q2, { from: '"ann@localhost" <eve@localhost>' }),
      "inner",
      "eve",
    ],
    ["is of a stranger with Reply-To", reply(q2, { replyTo: "ann@localhost" }), "inner", "eve"],
    ["is of another person who may speak", reply(q2), "inner", "bob"],
    ["has a sender that is not verified", reply(q2), "outer"],
    ["has a sender that is not verified, and a forged result", reply(q2, { headers: passed }), "outer"],
    ["has a sender that was not checked", reply(q2), "bare"],
    ["has a forged result of DMARC where none is added", reply(q2, { headers: passed }), "bare"],
    ["has a forged result of SPF where none is added", reply(q2, { headers: spf }), "bare"],
    [
      "has a forged trace and result",
      raw(
        `Received: from localhost by vm with LMTP id 1\r\n${results}Received: from ann by localhost (Postfix) with ESMTP id 2\r\nFrom: ann@localhost\r\n`,
      ),
      "bare",
    ],
    ["has two senders", raw(`${results}From: eve@localhost\r\nFrom: ann@localhost\r\n`), "bare"],
  ];
}

describe("a yes that its writer did not give to the open question", () => {
  it("does not count over e-mail, in any of 28 ways", async () => {
    const servers = await MailServers.start(["crab", "ann", "bob", "eve"]);
    const people = new Map(["ann", "bob", "eve"].map((name) => [name, new MailPerson(name, servers)]));
    const ann = people.get("ann");
    assert.ok(ann);
    const account = { kind: "email", address: CRAB, user: "crab", password: "crab", authserv: AUTHSERV };
    const host = await AskingHost.start(
      { ...account, imap: servers.imap, smtp: servers.smtp, allow: ["ann@localhost", "bob@localhost"] },
      { NODE_EXTRA_CA_CERTS: servers.certificate },
      "receives exactly-once",
    );
    try {
      const own = await ann.send({ subject: "Tidy", text: TIDY });
      const [first] = await ann.until(1);
      assert.ok(first);
      await ann.answer(first, "yes");
      await ran(host, "first");
      const second = (await ann.until(2)).at(-1);
      assert.ok(second);
      const ways = mailWays(own, first, second);
      assert.equal(ways.length, 28);
      for (const [, mail, at = "inner", from = "ann"] of ways) {
        await people
          .get(from)
          ?.send(at === "inner" || "raw" in mail ? mail : { from: "ann@localhost", ...mail }, at);
        await servers.settled();
      }
      await ann.send({ subject: "The last one", text: "the end" });
      while (!ann.got.some(({ subject }) => subject === "Re: The last one"))
        await ann.until(ann.got.length + 1);
      assert.equal(host.hasRun("second"), false);
      await ann.answer(second, "yes");
      await ran(host, "second");
    } finally {
      await host.end();
      for (const person of people.values()) person.end();
      await servers.end();
    }
  });

  it("does not count over XMPP, in any of 13 ways", async () => {
    const prosody = await Prosody.start(["crab", "ann", "bob", "eve"]);
    const CREW = "crew@rooms.localhost";
    const [ann, bob, eve] = ["ann", "bob", "eve"].map((name) => new XmppPerson(name, prosody.service));
    assert.ok(ann && bob && eve);
    for (const person of [ann, bob, eve]) await person.connect();
    const allow = ["ann@localhost", "bob@localhost"];
    const account = { kind: "xmpp", jid: "crab@localhost", password: "crab", service: prosody.service };
    const host = await AskingHost.start({ ...account, allow, groups: { [CREW]: {} } }, {}, "exactly-once");
    try {
      await ann.say(TIDY, "a-1");
      const q1 = await ann.untilSeen(/touch first\.txt/);
      await ann.say("yes", "a-2");
      const q2 = await ann.untilSeen(/touch second\.txt/);
      const id = (text: string): string => ann.got.find((message) => message.text === text)?.id ?? "";
      const chat = { to: "crab@localhost", type: "chat" };
      const body = (text: string) => xml("body", {}, text);
      const reply = (to: string) => xml("reply", { xmlns: "urn:xmpp:reply:0", to: "crab@localhost", id: to });
      const replace = xml("replace", { xmlns: "urn:xmpp:message-correct:0", id: "a-1" });
      const forwarded = xml(
        "forwarded",
        { xmlns: "urn:xmpp:forward:0" },
        xml("message", { from: "ann@localhost", to: "crab@localhost", type: "chat" }, body("yes")),
      );
      const code2 = codeIn(q2);
      const ways: [XmppPerson, ReturnType<typeof xml>][] = [
        [ann, xml("message", { ...chat, id: "w-1" }, body("yes"), reply(id(q1)))],
        [ann, xml("message", { ...chat, id: "w-2" }, body(`yes ${codeIn(q1)}`))],
        [ann, xml("message", { ...chat, id: "w-3" }, body(`yes ${codeIn(q1)}`), reply(id(q2)))],
        [ann, xml("message", { ...chat, id: "w-4" }, body("yes"), reply("a-1"))],
        [ann, xml("message", { ...chat, id: "w-5" }, body("yes"), replace)],
        [ann, xml("message", { ...chat, id: "w-6" }, body(`yes ${code2}`), replace, reply(id(q2)))],
        [ann, xml("message", { ...chat, id: "w-7" }, body("yes"), forwarded)],
        [ann, xml("message", { ...chat, id: "w-8" }, body("yes 7"))],
        [ann, xml("message", { ...chat, type: "headline", id: "w-9" }, body(`yes ${code2}`))],
        [eve, xml("message", { ...chat, id: "w-10" }, body("yes"), reply(id(q2)))],
        [
          eve,
          xml(
            "message",
            { ...chat, id: "w-11" },
            body(`yes ${code2}`),
            xml("received", { xmlns: "urn:xmpp:carbons:2" }, forwarded),
          ),
        ],
        [bob, xml("message", { ...chat, id: "w-12" }, body(`yes ${code2}`))],
      ];
      for (const [person, stanza] of ways) await person.send(stanza);
      await ann.join(CREW);
      await ann.sayIn(CREW, `crab: yes ${code2}`, "w-13");
      await ann.untilSeen("Fine.");
      await ann.say("/status", "a-3");
      await ann.untilSeen(/messages? waits?|turn runs/);
      assert.equal(host.hasRun("second"), false);
      await ann.send(xml("message", { ...chat, id: "a-4" }, body("yes"), reply(id(q2))));
      await ran(host, "second");
    } finally {
      await host.end();
      for (const person of [ann, bob, eve]) await person.end();
      await prosody.end();
    }
  });

  it("does not count over IRC, in any of 9 ways", async () => {
    const ngircd = await Ngircd.start();
    const [ann, bob, eve] = ["ann", "bob", "eve"].map((nick) => new IrcPerson(nick, ngircd));
    assert.ok(ann && bob && eve);
    for (const person of [ann, bob, eve]) await person.connect();
    const host = await AskingHost.start(
      {
        kind: "irc",
        service: ngircd.service,
        nick: "crab",
        serverPassword: Ngircd.password,
        allow: ["ann!~ann@127.0.0.1", "bob!~bob@127.0.0.1"],
        join: ["#boats"],
        groups: { "#boats": {} },
        linesPerSecond: 100,
      },
      {},
      "connected",
    );
    try {
      await ann.sees("crab");
      ann.say("crab", TIDY);
      await ann.untilSeen("crab", /touch first\.txt/);
      const q1 = await ann.untilSeen("crab", /This is question/);
      ann.say("crab", "yes");
      await ann.untilSeen("crab", /touch second\.txt/);
      const questions = async (): Promise<string[]> =>
        ann.got("crab").filter((text) => text.startsWith("This is question"));
      while ((await questions()).length < 2) await pause(20);
      const code2 = codeIn((await questions()).at(-1) ?? "");
      ann.say("crab", `yes ${codeIn(q1)}`);
      ann.say("crab", "yes 7");
      ann.say("crab", "> yes");
      ann.send("NOTICE crab :yes");
      ann.send("PRIVMSG crab :\u0001ACTION yes\u0001");
      eve.say("crab", `yes ${code2}`);
      bob.say("crab", `yes ${code2}`);
      ann.send("JOIN #boats");
      await ann.seesIn("crab", "#boats");
      ann.say("#boats", `crab: yes ${code2}`);
      // The nick of the owner, of someone else.
      ann.send("NICK away");
      await ann.settled();
      eve.send("NICK ann");
      await eve.settled();
      eve.say("crab", `yes ${code2}`);
      await eve.settled();
      eve.send("NICK eve");
      await eve.settled();
      ann.send("NICK ann");
      await ann.settled();
      ann.say("crab", "!status");
      await ann.untilSeen("crab", /turn runs|wait/);
      assert.equal(host.hasRun("second"), false);
      ann.say("crab", `yes ${code2}`);
      await ran(host, "second");
    } finally {
      await host.end();
      for (const person of [ann, bob, eve]) await person.end();
      await ngircd.end();
    }
  });
});

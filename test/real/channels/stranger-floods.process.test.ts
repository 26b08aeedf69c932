/** Floods and bombs of strangers at Debian's postfix and dovecot: the owner is answered within seconds, and the memory stays bounded. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { AUTHSERV, MailServers } from "../../servers/mail.ts";
import { AskingHost } from "./asking-host.ts";
import { CRAB, MailPerson } from "./mail-person.ts";

const MEGABYTE = 1024 * 1024;
/** Far more than the host takes for itself, MB. */
const MOST_MB = 300;
const ANSWER_MS = 5_000;

function megabytesOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
}

describe("mails of strangers", () => {
  it("of megabytes, and many, leave the owner answered within 5 s and the memory bounded", async () => {
    const servers = await MailServers.start(["crab", "ann", "eve"]);
    const [ann, eve] = [new MailPerson("ann", servers), new MailPerson("eve", servers)];
    const account = { kind: "email", address: CRAB, user: "crab", password: "crab", authserv: AUTHSERV };
    const host = await AskingHost.start(
      { ...account, imap: servers.imap, smtp: servers.smtp, allow: ["ann@localhost"] },
      { NODE_EXTRA_CA_CERTS: servers.certificate },
      "receives exactly-once",
    );
    try {
      // Sent with line ends of two bytes.
      const bomb = "\n".repeat(Math.floor(4.7 * MEGABYTE));
      const nested = "<div><table><tr><td>".repeat(200_000);
      for (let at = 0; at < 20; at += 1)
        await eve.send({ from: "ann@localhost", subject: `Bomb ${at}`, text: bomb }, "outer");
      for (let at = 0; at < 10; at += 1) await eve.send({ subject: `Deep ${at}`, html: nested });
      for (let at = 0; at < 100; at += 1)
        await eve.send({ from: `s${at}@evil.example`, subject: `Hello ${at}`, text: "hello" }, "outer");
      await servers.settled();
      const from = performance.now();
      await ann.send({ subject: "Buoys", text: "still there?" });
      while (!ann.got.some(({ subject }) => subject === "Re: Buoys")) await ann.until(ann.got.length + 1);
      const tookMs = performance.now() - from;
      const megabytes = megabytesOf(host.pid);
      console.log(
        `the owner was answered after ${Math.round(tookMs)} ms, at most ${Math.round(megabytes)} MB`,
      );
      assert.ok(tookMs < ANSWER_MS, `${tookMs} ms`);
      assert.ok(megabytes < MOST_MB, `${megabytes} MB`);
    } finally {
      await host.end();
      ann.end();
      eve.end();
      await servers.end();
    }
  });
});

/** Mails are parsed beside the host: none of them keeps it from its other work, or ends it. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { MailParserThread } from "../../../packages/channels/src/email/mail-parser-thread.ts";

const HEAD = "From: Ann <ann@example.org>\r\nMessage-ID: <1@a>\r\n";
const MEGABYTE = 1024 * 1024;

describe("the thread that parses mails", () => {
  let thread = new MailParserThread();
  afterEach(async () => {
    await thread.close();
    thread = new MailParserThread();
  });

  it("reads one mail after the other, with their files", async () => {
    const file = `Content-Type: image/png\r\nContent-Disposition: attachment; filename=a.png\r\n\r\nabc`;
    const [one, other] = await Promise.all([
      thread.parse(Buffer.from(`${HEAD}Subject: One\r\n\r\nhello`)),
      thread.parse(Buffer.from(`${HEAD}${file}`)),
    ]);
    assert.deepEqual([one?.from, one?.subject, one?.text], ["ann@example.org", "One", "hello"]);
    assert.equal(Buffer.from(other?.attachments[0]?.bytes ?? []).toString(), "abc");
  });

  it("leaves the host its time while it parses a mail that takes long", async () => {
    const long = Buffer.concat([Buffer.from(`${HEAD}\r\n`), Buffer.alloc(9 * MEGABYTE, "\n")]);
    await thread.parse(Buffer.from(HEAD));
    const cpu = process.threadCpuUsage();
    await thread.parse(long);
    const { user } = process.threadCpuUsage(cpu);
    assert.ok(user < 300_000, `the host's own thread worked ${user} µs`);
  });

  it("that is closed while it parses throws, so that the mail is received again", async () => {
    const long = Buffer.concat([Buffer.from(`${HEAD}\r\n`), Buffer.alloc(9 * MEGABYTE, "\n")]);
    const parsing = thread.parse(long);
    const closed = assert.rejects(parsing, /closed while a mail was parsed/);
    await thread.close();
    await closed;
    await assert.rejects(thread.parse(Buffer.from(HEAD)), /closed/);
  });

  it("gives up a mail at its deadline, and reads the next one", async () => {
    thread = new MailParserThread(1);
    const long = Buffer.concat([Buffer.from(`${HEAD}\r\n`), Buffer.alloc(9 * MEGABYTE, "\n")]);
    assert.equal(await thread.parse(long), undefined);
    thread = new MailParserThread();
    assert.equal((await thread.parse(Buffer.from(`${HEAD}\r\nhello`)))?.text, "hello");
  });

  it("gives up a mail that fills its memory, and reads the next one", async () => {
    const cell = "<td style='color:red'>&lt;a</td>";
    const html = "Content-Type: text/html\r\n\r\n";
    const parts = Array.from({ length: 90 }, () => `--b\r\n${html}${cell.repeat(3_000)}\r\n`).join("");
    const bomb = `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n${parts}--b--`;
    await thread.parse(Buffer.from(bomb));
    assert.equal((await thread.parse(Buffer.from(`${HEAD}\r\nhello`)))?.text, "hello");
  });
});

/** Mails to readers that the account's server does not take, now or at all. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { SmtpSender } from "../../../packages/channels/src/email/outgoing-mail.ts";
import { TemporaryRefusals } from "../../../packages/channels/src/email/temporary-refusals.ts";

const [ANN, BOB, CRAB] = ["ann@example.org", "bob@example.org", "crab@localhost"];
const MAIL = Buffer.from("Subject: x\r\n\r\nhello\r\n");
const LATER = "450 4.1.2 Domain not found, try again later";
const NEVER = "550 5.1.1 No such person";

/** Takes mails, but for the addresses that it refuses. */
class SmtpServer {
  readonly refusals = new Map<string, string>();
  /** Readers of each mail that was taken whole. */
  readonly taken: string[][] = [];
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #extensions: string;

  constructor(extensions: string) {
    this.#extensions = extensions;
  }

  async start(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  #serve(socket: Socket): void {
    let readers: string[] = [];
    let isData = false;
    let rest = "";
    const answerTo = (line: string): string => {
      const [, reader] = /^RCPT TO:<(.*)>$/.exec(line) ?? [];
      if (line.startsWith("EHLO")) return this.#extensions;
      if (line.startsWith("MAIL")) readers = [];
      if (line === "DATA" && readers.length === 0) return "554 no valid recipients";
      isData = line === "DATA";
      if (isData) return "354 go on";
      if (reader === undefined) return "250 ok";
      const refusal = this.refusals.get(reader);
      if (refusal === undefined) readers.push(reader);
      return refusal ?? "250 ok";
    };
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      const lines = (rest + data.toString()).split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        if (!isData) socket.write(`${answerTo(line)}\r\n`);
        else if (line === ".") {
          isData = false;
          this.taken.push(readers);
          socket.write("250 queued\r\n");
        }
    });
    socket.write("220 mx\r\n");
  }

  async close(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

for (const extensions of ["250 mx", "250-mx\r\n250 PIPELINING"])
  describe(`a server that answers EHLO with ${JSON.stringify(extensions)}`, () => {
    let now: number;
    let server: SmtpServer;
    let sender: SmtpSender;
    beforeEach(async () => {
      now = 1_700_000_000_000;
      server = new SmtpServer(extensions);
      const place = { host: "127.0.0.1", port: await server.start(), isSecure: false, isLocal: true };
      const limits = { unverified: "drop", maxBytes: 1e7, lookupMs: 1_000 } as const;
      const account = { address: CRAB, user: "crab", password: "x", smtp: place, imap: place, ...limits };
      sender = new SmtpSender(account, new TemporaryRefusals(() => now));
    });
    afterEach(async () => {
      sender.close();
      await server.close();
    });

    it("and refuses a reader for now gets no mail, not even the account's copy, until it takes both", async () => {
      server.refusals.set(ANN, LATER);
      await assert.rejects(sender.send(ANN, MAIL), /try again later/);
      await assert.rejects(sender.send(ANN, MAIL), /try again later/);
      assert.deepEqual(server.taken, []);
      server.refusals.clear();
      assert.equal(await sender.send(ANN, MAIL), undefined);
      assert.deepEqual(server.taken, [[ANN, CRAB]]);
    });

    it("and refuses a reader for good gets no mail", async () => {
      server.refusals.set(ANN, NEVER);
      const refusal = await sender.send(ANN, MAIL);
      assert.match(refusal?.reason ?? "", /No such person/);
      assert.equal(refusal?.isOfReader, true);
      assert.deepEqual(server.taken, []);
      assert.equal(await sender.send(BOB, MAIL), undefined);
      assert.deepEqual(server.taken, [[BOB, CRAB]]);
    });

    it("and refuses a domain for long holds up the others for a quarter of an hour", async () => {
      server.refusals.set(ANN, LATER);
      server.refusals.set(BOB, LATER);
      await assert.rejects(sender.send(ANN, MAIL));
      now += 15 * 60_000;
      assert.match((await sender.send(ANN, MAIL))?.reason ?? "", /try again later/);
      assert.match((await sender.send(BOB, MAIL))?.reason ?? "", /try again later/);
      now += 50 * 60_000;
      await assert.rejects(sender.send(BOB, MAIL), /try again later/, "it is tried again after an hour");
      assert.deepEqual(server.taken, []);
    });

    it("and takes no mail at all now is tried for as long as that lasts", async () => {
      for (const address of [ANN, CRAB]) server.refusals.set(address, LATER);
      await assert.rejects(sender.send(ANN, MAIL));
      now += 24 * 60 * 60_000;
      await assert.rejects(sender.send(ANN, MAIL));
      now += 24 * 60 * 60_000;
      await assert.rejects(sender.send(ANN, MAIL));
    });

    it("and refuses the account alone takes the mail", async () => {
      server.refusals.set(CRAB, LATER);
      assert.equal(await sender.send(ANN, MAIL), undefined);
      assert.deepEqual(server.taken, [[ANN]]);
    });
  });

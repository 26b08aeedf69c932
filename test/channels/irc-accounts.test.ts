import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
} from "../../packages/contract/src/channel/channel.ts";
import { createIrcChannel } from "../../packages/channels/src/irc/irc-channel.ts";
import { IrcService } from "./irc-service.ts";

interface Received {
  message: IncomingMessage | undefined;
  cursor: string | undefined;
}

describe("an IRC server with accounts", () => {
  let service: IrcService;
  let url: string;
  let connection: ChannelConnection | undefined;
  let arrived: (received: Received) => void;
  const received: Received[] = [];
  const missed: string[] = [];
  const port: ChannelPort = {
    cursor: undefined,
    receive: (message, cursor) => {
      received.push({ message, cursor });
      arrived({ message, cursor });
      return Promise.resolve();
    },
    missed: (sentence) => void missed.push(sentence),
  };

  beforeEach(async () => {
    service = new IrcService();
    url = await service.start();
    received.length = 0;
    missed.length = 0;
    arrived = () => undefined;
  });
  afterEach(async () => {
    await connection?.close();
    connection = undefined;
    service.close();
  });

  async function connect(
    password = "secret",
    more: Record<string, unknown> = {},
  ): Promise<ChannelConnection> {
    const config = { kind: "irc", service: url, nick: "crab", account: "crab", password, ...more };
    const channel = createIrcChannel("harbour", { ...config, linesPerSecond: 100 }, {});
    connection = await channel.connect(port, new AbortController().signal);
    return connection;
  }

  async function next(...lines: string[]): Promise<IncomingMessage | undefined> {
    const { promise, resolve } = Promise.withResolvers<Received>();
    arrived = (one) => {
      if (one.message) resolve(one);
    };
    service.send(...lines);
    return (await promise).message;
  }

  const to = (address: string, text = "Hello.") => ({
    id: "m-1",
    to: address,
    isGroup: address.startsWith("#"),
    text,
    createdAt: 0,
  });

  it("is logged in to with SASL, and a wrong password is an error with its reason", async () => {
    await connect();
    assert.ok(service.lines.includes("CAP REQ :account-tag message-tags sasl"));
    await connection?.close();
    await assert.rejects(connect("wrong"), {
      code: "channel_failed",
      message: /The channel harbour cannot log in at 127\.0\.0\.1: SASL authentication failed\./,
    });
  });

  it("whose welcome and first message arrive together loses nothing of it", async () => {
    service.early = [
      ":crab!~crab@host.test NICK crab2",
      "@account=ann :ann!~ann@host.test PRIVMSG crab2 :Are you there?",
    ];
    const first = next();
    await connect();
    assert.equal((await first)?.text, "Are you there?");
    assert.equal((await next(":ann!~ann@host.test PRIVMSG #boats :crab2: and here?"))?.isMention, true);
  });

  it("that offers no login is not used without one", async () => {
    service.capabilities = "account-tag message-tags";
    await assert.rejects(connect(), { code: "channel_failed", message: /the server has no SASL login/ });
  });

  it("makes the account the address, whatever the nick is", async () => {
    await connect();
    const message = await next("@account=Ann;msgid=x1 :crane!~a@far.test PRIVMSG crab :hello");
    assert.deepEqual(message, { id: "x1", from: "account:ann", name: "crane", text: "hello" });
    const other = await next(":ann!~eve@host.test PRIVMSG crab :I am ann");
    assert.equal(other?.from, "ann!~eve@host.test");
  });

  it("without the tag is asked who has logged in", async () => {
    service.capabilities = "sasl=PLAIN multi-prefix";
    service.people.set("crane", { user: "~a", account: "ann" });
    service.people.set("ann", { user: "~eve" });
    await connect();
    assert.equal((await next(":crane!~a@host.test PRIVMSG crab :hello"))?.from, "account:ann");
    assert.equal((await next(":ann!~eve@host.test PRIVMSG crab :hello"))?.from, "ann!~eve@host.test");
    service.people.set("owl", { user: "~o", account: "ann" });
    assert.equal((await next(":owl!~x@other.test PRIVMSG crab :hello"))?.from, "owl!~x@other.test");
  });

  it("passes an answer on only to who is that person now", async () => {
    const made = await connect();
    await next("@account=ann :crane!~a@host.test PRIVMSG crab :hello");
    service.people.set("crane", { user: "~a", account: "ann" });
    await made.send(to("account:ann"));
    assert.deepEqual(service.sentTo("crane"), ["Hello."]);
    service.people.set("crane", { user: "~a", account: "eve" });
    const refused = { code: "channel_refused", message: /account:ann is not there/ };
    await assert.rejects(made.send(to("account:ann")), refused);
    service.people.set("owl", { user: "~eve" });
    await assert.rejects(made.send(to("owl!~owl@host.test")), { code: "channel_refused" });
    service.people.set("owl", { user: "~owl" });
    await made.send(to("owl!~owl@host.test", "one\ntwo"));
    assert.deepEqual(service.sentTo("owl"), ["one", "two"]);
    assert.deepEqual(service.sentTo("crane"), ["Hello."], "nothing reached who took the nick");
  });

  it("has channels, where a mention is the nick as a word", async () => {
    const made = await connect("secret", { join: ["#boats"] });
    assert.ok(service.lines.includes("JOIN :#boats"));
    const said = async (text: string) => {
      const message = await next(`@account=ann :ann!~a@host.test PRIVMSG #Boats :${text}`);
      return `${message?.group} ${message?.isMention} ${message?.text}`;
    };
    assert.equal(await said("crab: what is new?"), "#boats true what is new?");
    assert.equal(await said("is crab there"), "#boats true is crab there");
    assert.equal(await said("crabs are nice"), "#boats false crabs are nice");
    await made.send(to("#boats", "Nothing."));
    assert.deepEqual(service.sentTo("#boats"), ["Nothing."]);
  });

  it("takes no notices, no hidden requests and nothing of its own", async () => {
    await connect();
    service.send(
      ":ann!~a@host.test NOTICE crab :automatic",
      ":ann!~a@host.test PRIVMSG crab :\u0001VERSION\u0001",
      ":crab!~c@host.test PRIVMSG crab :mine",
      ":irc.test PRIVMSG crab :from the server",
    );
    const message = await next(":ann!~a@host.test PRIVMSG crab :\u0001ACTION waves\u0001");
    assert.equal(message?.text, "* ann waves");
    assert.equal(received.filter((one) => one.message).length, 1);
  });

  it("that is gone fails what is sent, and ends the connection with a reason", async () => {
    const made = await connect();
    service.people.set("owl", { user: "~owl" });
    service.socket?.destroy();
    await assert.rejects(made.send(to("owl!~owl@host.test")), { code: "channel_failed" });
    assert.match(await made.ended, /cut|ECONNRESET|EPIPE/);
    await made.close();
  });

  it("gets no password in the clear over a network", () => {
    const config = { kind: "irc", nick: "crab", account: "crab", password: "secret" };
    assert.throws(() => createIrcChannel("harbour", { ...config, service: "irc://irc.example.org" }, {}), {
      code: "config_invalid",
      message: /channels\.harbour\.service is .*not encrypted/,
    });
    const odd = { ...config, service: "ircs://irc.example.org", nick: "a b" };
    assert.throws(() => createIrcChannel("harbour", odd, {}), /channels\.harbour\.nick is "a b"/);
  });
});

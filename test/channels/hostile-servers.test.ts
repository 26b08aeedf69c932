/** Servers that are made to do harm: what they send ends the connection with an error, keeps no memory, and never ends the process. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { createIrcChannel } from "../../packages/channels/src/irc/irc-channel.ts";
import { connectXmpp } from "../../packages/channels/src/xmpp/xmpp-client.ts";
import type { ChannelPort, IncomingMessage } from "../../packages/contract/src/channel/channel.ts";
import { IrcService } from "./irc-service.ts";
import { firstOf, longTest } from "../runner/long-tests.ts";

const TIMEOUT_MS = 30_000;
const HEADER =
  "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='s' from='localhost' version='1.0'>";
/** More than any sound stanza, and much less than what a process can hold, bytes. */
const BOUND = 64 * 1024 * 1024;
const LAUGHS =
  '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]><message><body>&lol1;</body></message>';

describe("a hostile server of XMPP", () => {
  let stop: (() => void) | undefined;
  afterEach(() => stop?.());

  /** Connects to a server that answers the first bytes with these. */
  async function connect(attack: (socket: Socket) => void): Promise<unknown> {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => attack(socket));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const service = `xmpp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    stop = () => server.close();
    const account = { local: "crab", domain: "localhost", password: "x", service, nick: "crab", groups: [] };
    return connectXmpp("home", account, TIMEOUT_MS).catch((error: unknown) => error);
  }

  const attacks: Record<string, string> = {
    "an entity that is not known": `${HEADER}<message><body>&lol;</body></message>`,
    "entities that grow": `<?xml version='1.0'?>${LAUGHS}`,
    "the end of an element that never began": "</message>",
    "characters that XML does not have": `${HEADER}<message><body>&#0;&#xFFFFFFFF;</body></message>`,
    "text outside of the stream": "hello\0\0\0<",
    "elements in elements in elements": `${HEADER}${"<a>".repeat(2_000_000)}`,
    "another stream as the end": `${HEADER}</stream:stream></stream:stream></x>`,
  };
  for (const [name, bytes] of Object.entries(attacks))
    it(`that sends ${name} only ends the connection`, async () => {
      const error = await connect((socket) => socket.end(bytes));
      assert.equal((error as { code?: string }).code, "channel_failed", String(error));
    });

  const endless: Record<string, string> = {
    text: `${HEADER}<message><body>`,
    "an attribute": `${HEADER}<message to='`,
    "a comment": `${HEADER}<!--`,
    "a name": `${HEADER}<`,
  };
  for (const [name, begin] of firstOf(Object.entries(endless)))
    it(`that sends ${name} without an end is cut off`, async () => {
      let bytes = 0;
      const closed = Promise.withResolvers<void>();
      const error = await connect((socket) => {
        socket.on("close", () => closed.resolve());
        socket.write(begin);
        const chunk = "a".repeat(256 * 1024);
        const more = async (): Promise<void> => {
          while (!socket.destroyed && bytes < BOUND) {
            bytes += chunk.length;
            if (socket.write(chunk)) await turnOfLoop();
            else await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => undefined);
          }
          if (!socket.destroyed) socket.destroy();
        };
        void more();
      });
      assert.equal((error as { code?: string }).code, "channel_failed");
      await closed.promise;
      assert.ok(bytes < BOUND, `${bytes} bytes were read`);
    });
});

describe("a hostile server of IRC", () => {
  longTest(
    "floods, sends lines without an end, NULs and nonsense, and the next message is read",
    async () => {
      const service = new IrcService();
      service.people.set("ann", { user: "~ann" });
      service.capabilities = "message-tags account-tag";
      const got: IncomingMessage[] = [];
      const missed: string[] = [];
      let cursor: string | undefined;
      const port: ChannelPort = {
        get cursor() {
          return cursor;
        },
        receive: async (message, at) => {
          cursor = at;
          await turnOfLoop();
          if (message) got.push(message);
        },
        missed: (sentence) => missed.push(sentence),
      };
      const channel = createIrcChannel("harbour", { service: await service.start(), nick: "crab" }, {});
      const connection = await channel.connect(port, AbortSignal.timeout(120_000));
      const { socket } = service;
      assert.ok(socket);
      const write = async (text: string): Promise<void> => {
        if (!socket.write(text)) await once(socket, "drain");
      };
      for (let count = 0; count < 64; count += 1) await write("x".repeat(1024 * 1024));
      await write("\r\n");
      for (let count = 0; count < 16; count += 1) await write("\0".repeat(1024 * 1024));
      await write("\r\n:\r\n@\r\n: : :\r\n@=;;\\ :x y\r\n:ann!~ann@host PRIVMSG\r\n\r\n");
      await write(":irc.test PRIVMSG crab :a server speaks\r\n");
      await write(
        ":ann!~ann@host.test PRIVMSG crab :\u0001VERSION\u0001\r\n:ann!~ann@host.test NOTICE crab :hi\r\n",
      );
      for (let count = 0; count < 100; count += 1)
        await write(":eve!~eve@host.test PRIVMSG crab :flood\r\n".repeat(1_000));
      while (got.length < 1_000) await turnOfLoop();
      for (let read = -1; read < got.length;) {
        read = got.length;
        for (let turns = 0; turns < 100; turns += 1) await turnOfLoop();
      }
      assert.match(missed.join("\n"), /More than 1000 lines came at once/);
      assert.ok(got.length < 100_000, "the flood is not kept");
      await write(":ann!~ann@host.test PRIVMSG crab :\u0002are\u0003 you \u202Ethere?\r\n");
      while (got.at(-1)?.from === "eve!~eve@host.test") await turnOfLoop();
      assert.deepEqual(
        got.filter(({ from }) => !from.startsWith("eve")).map(({ from, text }) => [from, text]),
        [["ann!~ann@host.test", "are you there?"]],
      );
      await connection.close();
      service.close();
    },
  );
});

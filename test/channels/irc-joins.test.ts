/** The channels of an IRC connection: the time until they are joined, and an end of the own part in one. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { createIrcChannel } from "../../packages/channels/src/irc/irc-channel.ts";
import type { ChannelConnection, ChannelPort } from "../../packages/contract/src/channel/channel.ts";
import { until } from "../runner/until.ts";
import { IrcService } from "./irc-service.ts";

const SINCE = "2026-01-01T00:00:00.000Z";
const JOINS = 8;
const AGAIN_MS = 30_000;
/** In this time an answer arrives, ms. */
const ANSWERED_MS = 300;

async function turns(): Promise<void> {
  for (const end = performance.now() + ANSWERED_MS; performance.now() < end;) await turnOfLoop();
}

/** Where the time of the test does not pass. */
async function arrived(isThere: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !isThere(); await turnOfLoop())
    assert.ok(performance.now() < end, `not within 10 s: ${String(isThere)}`);
}

describe("an IRC connection with channels", () => {
  let service: IrcService;
  let url: string;
  let connection: ChannelConnection | undefined;
  let cursor: string | undefined;
  const cursors: (string | undefined)[] = [];
  const missed: string[] = [];
  const port: ChannelPort = {
    get cursor() {
      return cursor;
    },
    receive: async (_message, next) => {
      cursor = next;
      cursors.push(next);
    },
    missed: (sentence) => void missed.push(sentence),
  };

  beforeEach(async () => {
    service = new IrcService();
    service.capabilities = "message-tags account-tag";
    url = await service.start();
    cursor = undefined;
    cursors.length = 0;
    missed.length = 0;
  });
  afterEach(async () => {
    await connection?.close();
    service.close();
  });

  async function connect(join: readonly string[]): Promise<void> {
    const config = { kind: "irc", service: url, nick: "crab", join: [...join], linesPerSecond: 20 };
    connection = await createIrcChannel("harbour", config, {}).connect(port, new AbortController().signal);
  }

  const joins = (): number => service.lines.filter((line) => line.startsWith("JOIN")).length;

  it("reports the time until all are joined, and moves its place only after that", async () => {
    cursor = SINCE;
    const connecting = connect(Array.from({ length: JOINS }, (_none, at) => `#c${at}`));
    await until(() => joins() > 0);
    service.send("@account=ann :ann!~ann@host.test PRIVMSG crab :early");
    await until(() => joins() === JOINS);
    const joined = Date.now();
    assert.deepEqual([cursors, missed], [[SINCE], []]);
    await connecting;
    const [, to = ""] =
      /from 2026-01-01T00:00:00\.000Z to (\S+): IRC keeps nothing/.exec(missed.join()) ?? [];
    assert.ok(Date.parse(to) >= joined, `${to} is before ${new Date(joined).toISOString()}`);
    assert.equal(cursor, to);
  });

  it("reports that it was put out of a channel, and joins it again until it is back", async (t) => {
    await connect(["#boats"]);
    assert.equal(joins(), 1);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    service.send(":op!o@host.test KICK #Boats eve :not us", ":op!o@host.test KICK #Boats Crab :bye");
    await arrived(() => missed.length === 1);
    assert.match(missed.join(), /^Put out of #Boats \(KICK of op: bye\): what is written there does not/);
    service.joinRefusal = "474";
    for (const times of [2, 3]) {
      t.mock.timers.tick(AGAIN_MS);
      await arrived(() => joins() === times);
      await turns();
    }
    assert.match(missed.slice(1).join(), /^The server refuses to join #boats: not now$/, "once");
    service.joinRefusal = undefined;
    t.mock.timers.tick(AGAIN_MS);
    await arrived(() => missed.length === 3);
    assert.match(missed.at(-1) ?? "", /^Not in #boats from 20.*Z to 20.*Z: what was written there did not/);
    t.mock.timers.tick(AGAIN_MS);
    await turns();
    assert.equal(joins(), 4, "it is in");
  });

  it("joins again when it is put out before the server has answered", async (t) => {
    await connect(["#boats"]);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    service.send(":op!o@host.test KICK #boats crab :bye");
    await arrived(() => missed.length === 1);
    for (const [times, line] of [
      [2, ":op!o@host.test KICK #Boats Crab :again"],
      [3, ":crab!~crab@host.test PART #boats :forced"],
    ] as const) {
      service.joinReplies = [":crab!~crab@host.test JOIN #boats", line];
      t.mock.timers.tick(AGAIN_MS);
      await arrived(() => missed.length === times);
      await turns();
      assert.equal(joins(), times);
      assert.match(missed.slice(1).join("\n"), /^(Put out of #boats .*\n?)+$/i, "no return is reported");
    }
    service.joinReplies = [];
    t.mock.timers.tick(AGAIN_MS);
    await arrived(() => missed.length === 4);
    assert.equal(joins(), 4);
    assert.match(missed.at(-1) ?? "", /^Not in #boats from 20.*Z to 20/);
    t.mock.timers.tick(AGAIN_MS);
    await turns();
    assert.equal(joins(), 4, "it is in");
  });

  for (const number of ["403", "405", "407", "477", "489"]) {
    it(`takes a refusal with ${number} as that of the message or of the join that it names`, async (t) => {
      await connect(["#boats"]);
      t.mock.timers.enable({ apis: ["setTimeout"] });
      const send = async (to: string): Promise<void> =>
        connection?.send({ id: "1", to, isGroup: true, text: "hello", createdAt: 0 });
      /** Lets an attempt to join and a message meet, when both may be sent without a pause. */
      const meet = async (to: string): Promise<void> => {
        await turns();
        t.mock.timers.tick(AGAIN_MS);
        await send(to);
      };
      service.send(":op!o@host.test KICK #boats crab :bye");
      await arrived(() => missed.length === 1);
      service.joinReplies = [`:irc.test ${number} crab #BOATS :not now`];
      await meet("#other");
      await arrived(() => missed.length === 2);
      assert.equal(missed[1], "The server refuses to join #BOATS: not now");
      assert.deepEqual(service.sentTo("#other"), ["hello"]);

      service.joinReplies = [`:irc.test ${number} crab #OTHER :not now`];
      await assert.rejects(meet("#other"), { code: "channel_refused", message: /#OTHER not now/ });
      await arrived(() => missed.length === 3);
      assert.match(missed[2] ?? "", /^Not in #boats from /);
    });
  }
});

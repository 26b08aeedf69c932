/** The channels of an IRC connection: the time until they are joined, and an end of the own part in one. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createIrcChannel } from "../../packages/channels/src/irc/irc-channel.ts";
import type { ChannelConnection, ChannelPort } from "../../packages/contract/src/channel/channel.ts";
import { TestClock } from "../runner/test-clock.ts";
import { until } from "../runner/until.ts";
import { IrcService } from "./irc-service.ts";

const SINCE = "2026-01-01T00:00:00.000Z";
const JOINS = 8;
const AGAIN_MS = 30_000;
/** Longest pause between two lines, ms. */
const LINE_MS = 100;

describe("an IRC connection with channels", () => {
  let service: IrcService;
  let clock: TestClock;
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
    clock = new TestClock();
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
    const channel = createIrcChannel("harbour", config, {}, { clock });
    connection = await channel.connect(port, new AbortController().signal);
  }

  const joins = (): number => service.lines.filter((line) => line.startsWith("JOIN")).length;

  it("reports the time until all are joined, and moves its place only after that", async () => {
    cursor = SINCE;
    const connecting = connect(Array.from({ length: JOINS }, (_none, at) => `#c${at}`));
    await until(() => joins() > 0);
    service.send("@account=ann :ann!~ann@host.test PRIVMSG crab :early");
    await clock.passUntil(LINE_MS, () => joins() === JOINS);
    const joined = clock.now();
    assert.deepEqual([cursors, missed], [[SINCE], []]);
    await clock.passWhile(LINE_MS, connecting);
    const [, to = ""] =
      /from 2026-01-01T00:00:00\.000Z to (\S+): IRC keeps nothing/.exec(missed.join()) ?? [];
    assert.ok(Date.parse(to) >= joined, `${to} is before ${new Date(joined).toISOString()}`);
    assert.equal(cursor, to);
  });

  it("reports that it was put out of a channel, and joins it again until it is back", async () => {
    await connect(["#boats"]);
    assert.equal(joins(), 1);
    service.send(":op!o@host.test KICK #Boats eve :not us", ":op!o@host.test KICK #Boats Crab :bye");
    await until(() => missed.length === 1);
    assert.match(missed.join(), /^Put out of #Boats \(KICK of op: bye\): what is written there does not/);
    service.joinRefusal = "474";
    for (const times of [2, 3]) {
      clock.move(AGAIN_MS);
      await until(() => joins() === times);
      await service.read();
    }
    assert.match(missed.slice(1).join(), /^The server refuses to join #boats: not now$/, "once");
    service.joinRefusal = undefined;
    clock.move(AGAIN_MS);
    await until(() => missed.length === 3);
    assert.match(missed.at(-1) ?? "", /^Not in #boats from 20.*Z to 20.*Z: what was written there did not/);
    clock.move(AGAIN_MS);
    await service.read();
    assert.equal(joins(), 4, "it is in");
  });

  it("joins again when it is put out before the server has answered", async () => {
    await connect(["#boats"]);
    service.send(":op!o@host.test KICK #boats crab :bye");
    await until(() => missed.length === 1);
    for (const [times, line] of [
      [2, ":op!o@host.test KICK #Boats Crab :again"],
      [3, ":crab!~crab@host.test PART #boats :forced"],
    ] as const) {
      service.joinReplies = [":crab!~crab@host.test JOIN #boats", line];
      clock.move(AGAIN_MS);
      await until(() => missed.length === times);
      await service.read();
      assert.equal(joins(), times);
      assert.match(missed.slice(1).join("\n"), /^(Put out of #boats .*\n?)+$/i, "no return is reported");
    }
    service.joinReplies = [];
    clock.move(AGAIN_MS);
    await until(() => missed.length === 4);
    assert.equal(joins(), 4);
    assert.match(missed.at(-1) ?? "", /^Not in #boats from 20.*Z to 20/);
    clock.move(AGAIN_MS);
    await service.read();
    assert.equal(joins(), 4, "it is in");
  });

  for (const number of ["403", "405", "407", "477", "489"]) {
    it(`takes a refusal with ${number} as that of the message or of the join that it names`, async () => {
      await connect(["#boats"]);
      const send = async (to: string): Promise<void> =>
        connection?.send({ id: "1", to, isGroup: true, text: "hello", createdAt: 0 });
      /** Lets an attempt to join and a message meet, when both may be sent without a pause. */
      const meet = async (to: string): Promise<void> => {
        await service.read();
        clock.move(AGAIN_MS);
        await clock.passWhile(LINE_MS, send(to));
      };
      service.send(":op!o@host.test KICK #boats crab :bye");
      await until(() => missed.length === 1);
      service.joinReplies = [`:irc.test ${number} crab #BOATS :not now`];
      await meet("#other");
      await until(() => missed.length === 2);
      assert.equal(missed[1], "The server refuses to join #BOATS: not now");
      assert.deepEqual(service.sentTo("#other"), ["hello"]);

      service.joinReplies = [`:irc.test ${number} crab #OTHER :not now`];
      await assert.rejects(meet("#other"), { code: "channel_refused", message: /#OTHER not now/ });
      await until(() => missed.length === 3);
      assert.match(missed[2] ?? "", /^Not in #boats from /);
    });
  }
});

/** The place of a Discord channel in its session, while a message is not on disk. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createDiscordChannel } from "../../../packages/channels/src/chat-sdk/discord-channel.ts";
import type { ChannelConnection, ChannelPort } from "../../../packages/contract/src/channel/channel.ts";
import { until } from "../../runner/until.ts";
import { DiscordApi } from "./discord-api.ts";
import type { Call, Reply } from "./local-service.ts";

const ANN = { id: "444", username: "ann" };
const BOB = { id: "555", username: "bob" };

/** A service that holds the look at one channel back, and then fails it. */
class HeldApi extends DiscordApi {
  readonly asked = Promise.withResolvers<void>();
  readonly held = Promise.withResolvers<void>();
  isHeld = true;

  protected override async answer(call: Call): Promise<Reply> {
    if (!this.isHeld || call.path !== `/channels/8${BOB.id}`) return super.answer(call);
    this.asked.resolve();
    await this.held.promise;
    return { status: 500, body: { message: "Internal Server Error", code: 0 } };
  }
}

describe("a message over Discord that cannot be read at first", () => {
  let api: HeldApi;
  let cursor: string | undefined;
  const got: string[] = [];
  const port: ChannelPort = {
    get cursor() {
      return cursor;
    },
    receive: async (message, next) => {
      if (message) got.push(message.text);
      cursor = next ?? cursor;
    },
    missed: () => undefined,
  };
  const open: ChannelConnection[] = [];

  beforeEach(async () => {
    api = new HeldApi();
    await api.start();
  });
  afterEach(async () => {
    for (const connection of open.splice(0)) await connection.close();
    await api.stop();
  });

  async function connect(): Promise<ChannelConnection> {
    const config = { kind: "discord", token: DiscordApi.token, url: api.url, allow: [ANN.id] };
    const channel = createDiscordChannel("dc", config, {});
    const connection = await channel.connect(port, new AbortController().signal);
    open.push(connection);
    return connection;
  }

  it("is received over the next connection, also where an answer was sent meanwhile", async () => {
    const first = await connect();
    api.say(ANN, "hello");
    await until(() => got.length === 1);
    api.say(BOB, "first words");
    await api.asked.promise;
    await first.send({ id: "w-0", to: ANN.id, isGroup: false, text: "hi", createdAt: Date.now() });
    api.held.resolve();
    await first.ended;
    api.isHeld = false;
    await connect();
    await until(() => got.length > 1);
    assert.deepEqual(got, ["hello", "first words"]);
  });
});

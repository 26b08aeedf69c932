import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChannelContext, ChannelFactory } from "../../packages/contract/src/channel/channel-kind.ts";
import type { Channel, ChannelConnection, ChannelPort } from "../../packages/contract/src/channel/channel.ts";
import { createChannel } from "../../packages/channels/src/create-channel.ts";
import { PluginRegistry } from "../../packages/host/src/plugin/registry.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";

const MESSAGE = { id: "m-1", to: "ann", isGroup: false, text: "Hello.", createdAt: 0 };
const PORT: ChannelPort = { cursor: undefined, receive: () => Promise.resolve(), missed: () => undefined };

function connectionOf(more: Partial<ChannelConnection> = {}): ChannelConnection {
  return {
    capabilities: { inbound: "at-most-once", outbound: "at-most-once", maxChars: 100 },
    ended: new Promise(() => undefined),
    send: () => Promise.resolve(),
    close: () => Promise.resolve(),
    ...more,
  };
}

const channelOf = (connection: ChannelConnection): Channel => ({
  id: "x",
  kind: "x",
  connect: () => Promise.resolve(connection),
});

async function registryWith(factory: ChannelFactory, kind = "pigeon"): Promise<PluginRegistry> {
  const llmComplete = (): Promise<never> => Promise.reject(new Error("not used"));
  const registry = new PluginRegistry({ config: {}, logger: silentLogger, baseDir: "/", llmComplete });
  assert.equal(await registry.register("a", (api) => api.registerChannel(kind, factory)), undefined);
  return registry;
}

async function made(factory: ChannelFactory, settings: Record<string, unknown> = {}): Promise<Channel> {
  const { channels: kinds } = await registryWith(factory);
  return createChannel("home", { kind: "pigeon", settings }, { env: { TOKEN: "hush" }, kinds });
}

async function connected(connection: ChannelConnection): Promise<ChannelConnection> {
  const channel = await made(() => channelOf(connection));
  return channel.connect(PORT, new AbortController().signal);
}

describe("a kind of channel that a plugin adds", () => {
  it("gets its settings with the variables of the environment, and has the name of the configuration", async () => {
    let seen: ChannelContext | undefined;
    const settings = { url: "https://x", auth: { token: "Bearer ${TOKEN}" }, tags: ["${TOKEN}", 3] };
    const channel = await made((context) => {
      seen = context;
      return channelOf(connectionOf());
    }, settings);
    assert.deepEqual(seen, {
      id: "home",
      settings: { url: "https://x", auth: { token: "Bearer hush" }, tags: ["hush", 3] },
    });
    assert.equal(`${channel.id} ${channel.kind}`, "home pigeon");
    await assert.rejects(
      made(() => channelOf(connectionOf()), { token: "${OTHER}" }),
      {
        code: "credential_missing",
        message: /channels\.home\.settings\.token refers to .* OTHER/,
      },
    );
  });

  it("is named by the error about a kind that does not exist", async () => {
    const { channels: kinds } = await registryWith(() => channelOf(connectionOf()));
    await assert.rejects(createChannel("home", { kind: "pigon" }, { env: {}, kinds }), {
      code: "config_invalid",
      message: /channels\.home\.kind is "pigon".*use one of xmpp.*, pigeon\./,
    });
  });

  it("is refused with a bundled or registered name, an invalid one, and without a factory", async () => {
    const registry = await registryWith(() => channelOf(connectionOf()));
    const refused = async (id: string, kind: string, factory: unknown = () => undefined): Promise<string> =>
      (await registry.register(id, (api) => api.registerChannel(kind, factory as ChannelFactory)))?.reason ??
      "";
    assert.match(await refused("b", "xmpp"), /channel xmpp .* is registered already by pagurus/);
    assert.match(await refused("c", "pigeon"), /channel pigeon .* is registered already by a/);
    assert.match(await refused("d", "Pigeon Post"), /kind of channel "Pigeon Post" is not valid/);
    assert.match(await refused("e", "owl", "no function"), /no function for the factory of the channel owl/);
    assert.deepEqual(
      registry.channels.map(({ kind }) => kind),
      ["pigeon"],
    );
  });

  it("fails with channel_failed, whatever its code throws", async () => {
    const broken = new TypeError("wing is undefined");
    const connection = await connected(
      connectionOf({
        send: () => Promise.reject(broken),
        wasSent: () => Promise.reject(broken),
        close: () => Promise.reject(broken),
        ended: Promise.reject(broken),
      }),
    );
    const expected = {
      code: "channel_failed",
      message: /^The channel home could not .*: wing is undefined\.$/,
    };
    await assert.rejects(connection.send(MESSAGE), expected);
    await assert.rejects(connection.wasSent?.(MESSAGE) ?? Promise.resolve(), expected);
    assert.equal(await connection.ended, "wing is undefined");
    await connection.close();
    const channel = await made(() => ({
      ...channelOf(connectionOf()),
      connect: () => Promise.reject(broken),
    }));
    await assert.rejects(channel.connect(PORT, new AbortController().signal), expected);
  });

  it("cannot declare what it cannot keep", async () => {
    const wrong = [
      { inbound: "always", outbound: "at-most-once", maxChars: 100 },
      { inbound: "at-most-once", outbound: "at-most-once", maxChars: 0 },
      { inbound: "exactly-once", outbound: "exactly-once", maxChars: 100 },
    ];
    for (const capabilities of wrong)
      await assert.rejects(connected(connectionOf({ capabilities: capabilities as never })), {
        code: "channel_failed",
      });
  });
});

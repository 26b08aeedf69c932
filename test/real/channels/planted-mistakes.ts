/** Mistakes that a channel could make at a real service, each around the bundled one. */
import type {
  Channel,
  ChannelConnection,
  ChannelPort,
  IncomingMessage,
} from "../../../packages/contract/src/channel/channel.ts";

/** Changes to what the host gives the channel, and to the connection that it gets. */
export interface Mistake {
  /** The check of the suite that has to find it. */
  check: string;
  port?: (port: ChannelPort) => Partial<ChannelPort>;
  connection?: (connection: ChannelConnection) => Partial<ChannelConnection>;
}

function received(
  port: ChannelPort,
  change: (message: IncomingMessage) => IncomingMessage | undefined,
): Partial<ChannelPort> {
  return {
    receive: (message, cursor) => port.receive(message && change(message), cursor),
  };
}

export const MISTAKES: Readonly<Record<string, Mistake>> = {
  "receives each message twice": {
    check: "receive.order",
    port: (port) => ({
      receive: async (message, cursor) => {
        await port.receive(message, cursor);
        if (message) await port.receive(message, cursor);
      },
    }),
  },
  "makes ids of texts": {
    check: "receive.id",
    port: (port) => received(port, (message) => ({ ...message, id: message.text })),
  },
  "believes a name": {
    check: "receive.pretended",
    port: (port) => received(port, ({ name, ...message }) => ({ ...message, from: name ?? message.from })),
  },
  "loses what the host could not write": {
    check: "receive.failed",
    port: (port) => ({
      receive: (message, cursor) =>
        port.receive(message, cursor).catch(() => port.receive(undefined, cursor)),
    }),
  },
  "forgets the cursor": {
    check: "receive.away",
    port: () => ({ cursor: undefined }),
  },
  "sends each message twice": {
    check: "send.order",
    connection: (connection) => ({
      send: async (message) => {
        await connection.send(message);
        await connection.send({ ...message, id: `${message.id}-again` });
      },
    }),
  },
  "takes every message for sent": {
    check: "send.unknown",
    connection: () => ({ wasSent: () => Promise.resolve(true) }),
  },
  "finds no message that was sent": {
    check: "send.known",
    connection: () => ({ wasSent: () => Promise.resolve(false) }),
  },
  "takes everyone for ann": {
    check: "receive.sender",
    port: (port) =>
      received(port, (message) => ({ ...message, from: message.from.replaceAll("eve", "ann") })),
  },
  "drops a text of several lines": {
    check: "send.odd",
    connection: (connection) => ({
      send: (message) => (message.text.includes("\n") ? Promise.resolve() : connection.send(message)),
    }),
  },
  "takes a message that a cut has swallowed for sent": {
    check: "end.cut",
    connection: (connection) => ({ send: (message) => connection.send(message).catch(() => undefined) }),
  },
  "cuts long texts": {
    check: "send.longest",
    connection: (connection) => ({
      send: (message) => connection.send({ ...message, text: message.text.slice(0, 2_000) }),
    }),
  },
};

/** The address that a nick would have, with which a person who takes another's nick would be that one. */
export const BELIEVES_A_NICK: Mistake = {
  check: "receive.pretended",
  port: (port) =>
    received(port, (message) => {
      const nick = message.name ?? "";
      return { ...message, from: `${nick}!~${nick}@127.0.0.1` };
    }),
};

/** The channel with a mistake. */
export function withMistake(channel: Channel, { port: changePort, connection: change }: Mistake): Channel {
  return {
    ...channel,
    connect: async (port, signal) => {
      const changed = changePort?.(port) ?? {};
      const seen: ChannelPort = {
        get cursor() {
          return "cursor" in changed ? changed.cursor : port.cursor;
        },
        receive: changed.receive ?? ((message, cursor) => port.receive(message, cursor)),
        missed: (sentence) => port.missed(sentence),
      };
      const connection = await channel.connect(seen, signal);
      const { wasSent } = connection;
      return {
        capabilities: connection.capabilities,
        ended: connection.ended,
        send: (message) => connection.send(message),
        ...(wasSent ? { wasSent: wasSent.bind(connection) } : {}),
        close: () => connection.close(),
        ...change?.(connection),
      };
    },
  };
}

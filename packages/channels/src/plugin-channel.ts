/**
 * Makes a plugin's channel keep the contract: whatever its code throws is `channel_failed`, a capability that is none
 * is refused, and closing never throws.
 */
import type { ChannelContext, ChannelKind } from "@pagurus/contract/channel/channel-kind";
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  Delivery,
} from "@pagurus/contract/channel/channel";
import { toPagurusError } from "@pagurus/contract/errors";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import { channelFailure } from "./channel-failure.ts";

const DELIVERIES: readonly Delivery[] = ["exactly-once", "at-least-once", "at-most-once"];

/** Replaces `${NAME}` in every text of the settings. Throws `credential_missing`. */
function withSecrets(
  value: unknown,
  key: string,
  env: Readonly<Record<string, string | undefined>>,
): unknown {
  if (typeof value === "string") return withVariables(value, key, env);
  if (Array.isArray(value)) return value.map((each, at) => withSecrets(each, `${key}[${at}]`, env));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withSecrets(each, `${key}.${name}`, env)]),
  );
}

/** What the channel declares about itself; a value of another type counts as absent. */
function declared({ sendsFiles, joinsFile, maxChars }: Channel): Omit<Channel, "id" | "kind" | "connect"> {
  return {
    sendsFiles: sendsFiles === true,
    joinsFile: joinsFile === true,
    ...(Number.isInteger(maxChars) && Number(maxChars) > 1 ? { maxChars: Number(maxChars) } : {}),
  };
}

/** Throws `credential_missing`, and what the plugin throws. */
export async function createPluginChannel(
  { kind, create }: ChannelKind,
  { id, settings }: ChannelContext,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Channel> {
  const resolved = withSecrets(settings, `channels.${id}.settings`, env) as ChannelContext["settings"];
  const channel = await create({ id, settings: resolved });
  return {
    ...declared(channel),
    id,
    kind,
    connect: async (port, signal) => {
      let connection: ChannelConnection;
      try {
        connection = await channel.connect(port, signal);
      } catch (error) {
        throw channelFailure(id, "could not connect", error);
      }
      try {
        return held(id, connection);
      } catch (error) {
        await connection.close().catch(() => undefined);
        throw error;
      }
    },
  };
}

/** Throws `channel_failed` for capabilities that no channel has. */
function checked(id: string, connection: ChannelConnection): ChannelCapabilities {
  const { capabilities } = connection;
  const { inbound, outbound, maxChars } = capabilities;
  if (!DELIVERIES.includes(inbound) || !DELIVERIES.includes(outbound) || !(maxChars >= 1))
    throw channelFailure(
      id,
      "has no valid capabilities",
      new Error("its plugin declares a delivery or a maxChars that does not exist"),
    );
  if (outbound === "exactly-once" && typeof connection.wasSent !== "function")
    throw channelFailure(id, "cannot keep its promise", new Error("exactly-once needs wasSent"));
  return capabilities;
}

function held(id: string, connection: ChannelConnection): ChannelConnection {
  const capabilities = checked(id, connection);
  const { wasSent, typing } = connection;
  return {
    capabilities,
    ended: Promise.resolve(connection.ended).then(
      (reason) => String(reason),
      (error: unknown) => toPagurusError(error).message,
    ),
    send: async (message) => {
      try {
        await connection.send(message);
      } catch (error) {
        throw channelFailure(id, "could not send a message", error);
      }
    },
    ...(wasSent && {
      wasSent: async (message) => {
        try {
          return await wasSent.call(connection, message);
        } catch (error) {
          throw channelFailure(id, "could not look up a message", error);
        }
      },
    }),
    ...(typing && {
      // A mark that could not be shown is no failure.
      typing: (...mark) =>
        void Promise.resolve()
          .then(() => typing.apply(connection, mark))
          .catch(() => undefined),
    }),
    // Closing never throws, which a plugin may not know.
    close: () =>
      Promise.resolve()
        .then(() => connection.close())
        .catch(() => undefined),
  };
}

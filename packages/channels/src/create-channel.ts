/** The channel of an entry of the configuration: of a bundled kind, whose library is loaded here, or of a plugin's. */
import { BUNDLED_CHANNELS, isBundledChannel, type BundledChannel } from "@pagurus/core/config/bundled";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { ChannelKind } from "@pagurus/contract/channel/channel-kind";
import type {
  Channel,
  ChannelCapabilities,
  ChannelCheck,
  ChannelPort,
} from "@pagurus/contract/channel/channel";
import { PagurusError } from "@pagurus/contract/errors";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { ChannelParts } from "./channel-parts.ts";
import { createPluginChannel } from "./plugin-channel.ts";

type ChannelConfig = NonNullable<PagurusConfig["channels"]>[string];

export type Env = Readonly<Record<string, string | undefined>>;

export interface CreateOptions extends ChannelParts {
  env: Env;
  kinds: readonly ChannelKind[];
}

type Create = (id: string, config: ChannelConfig, env: Env, parts: ChannelParts) => Channel;

/** Loads a kind whose libraries are optional: the others of an installation need none of their megabytes. Throws `config_invalid` without them. */
function withPackages(kind: string, packages: string, load: () => Promise<Create>): () => Promise<Create> {
  return async () => {
    try {
      return await load();
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
      throw new PagurusError(
        "config_invalid",
        `A channel of the kind ${JSON.stringify(kind)} needs ${packages}; install it beside pagurus with npm, or remove the channel.`,
        { cause },
      );
    }
  };
}

/** Each is loaded only where it is configured. */
const BUNDLED: Readonly<Record<BundledChannel, () => Promise<Create>>> = {
  xmpp: async () => (await import("./xmpp/xmpp-channel.ts")).createXmppChannel,
  email: withPackages(
    "email",
    "the packages imapflow, nodemailer and mailparser",
    async () => (await import("./email/email-channel.ts")).createEmailChannel,
  ),
  irc: async () => (await import("./irc/irc-channel.ts")).createIrcChannel,
  webhook: async () => (await import("./webhook/webhook-channel.ts")).createWebhookChannel,
  telegram: withPackages(
    "telegram",
    "the package @chat-adapter/telegram",
    async () => (await import("./chat-sdk/telegram-channel.ts")).createTelegramChannel,
  ),
  slack: withPackages(
    "slack",
    "the package @chat-adapter/slack",
    async () => (await import("./chat-sdk/slack-channel.ts")).createSlackChannel,
  ),
  discord: withPackages(
    "discord",
    "the package @chat-adapter/discord",
    async () => (await import("./chat-sdk/discord-channel.ts")).createDiscordChannel,
  ),
  github: withPackages(
    "github",
    "the package @chat-adapter/github",
    async () => (await import("./chat-sdk/github-channel.ts")).createGitHubChannel,
  ),
};

/** Throws `config_invalid`, `credential_missing`, and what a plugin throws. */
export async function createChannel(
  id: string,
  config: ChannelConfig,
  { env, kinds, ...parts }: CreateOptions,
): Promise<Channel> {
  const { kind = "" } = config;
  if (isBundledChannel(kind)) return (await BUNDLED[kind]())(id, config, env, parts);
  const own = kinds.find((each) => each.kind === kind);
  if (own) return createPluginChannel(own, { id, settings: config.settings ?? {} }, env);
  const known = [...BUNDLED_CHANNELS, ...kinds.map((each) => each.kind)];
  const problem =
    kind === ""
      ? `channels.${id} has no kind, so no channel is opened for it; set channels.${id}.kind to`
      : `channels.${id}.kind is ${JSON.stringify(kind)}, which is no kind of channel here; use`;
  throw new PagurusError("config_invalid", `${problem} one of ${known.join(", ")}.`);
}

export interface ProbeOptions {
  env: Env;
  kinds: readonly ChannelKind[];
  /** Place that the host has kept; nothing is stored. */
  cursor: string | undefined;
  timeoutMs: number;
  /** Whether messages may be sent to the own account. */
  isThorough: boolean;
}

export interface Probed extends ChannelCheck {
  capabilities: ChannelCapabilities;
}

/**
 * Connects a channel once, to see whether its credentials work and what it can promise. It takes no message. Throws `config_invalid`,
 * `credential_missing`, `channel_failed`, `deadline_exceeded`, and what a plugin throws.
 */
export async function probeChannel(
  id: string,
  config: ChannelConfig,
  { env, kinds, cursor, timeoutMs, isThorough }: ProbeOptions,
): Promise<Probed> {
  const channel = await createChannel(id, config, { env, kinds });
  const port: ChannelPort = {
    cursor,
    // The message stays where it is: its receiver has failed to write it.
    receive: async (message) => {
      if (message) throw new PagurusError("store_write_failed", "A test of a channel takes no message.");
    },
    missed: () => undefined,
  };
  return withDeadline(
    async (signal) => {
      const connection = await channel.connect(port, signal);
      const { capabilities } = connection;
      await connection.close();
      const { problems = [], notes = [] } = (await channel.check?.({ isThorough, signal })) ?? {};
      return { capabilities, problems, notes };
    },
    { ms: timeoutMs, label: `Connecting the channel ${id}` },
  );
}

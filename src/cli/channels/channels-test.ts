import { probeChannel } from "../../channels/create-channel.ts";
import { ChannelStore } from "../../channels/channel-store.ts";
import { resolveHome } from "../../config/config-paths.ts";
import { loadConfig } from "../../config/load-config.ts";
import { isBundledChannel } from "../../config/bundled.ts";
import type { ChannelCapabilities } from "../../contract/channel/channel.ts";
import { toPagurusError } from "../../contract/errors.ts";
import { openServerDatabase } from "../../inbox/server-database.ts";
import { printJson, printLine, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";

const TIMEOUT_MS = 30_000;

/** Outcome of one attempt to connect. */
export type Tested = { id: string; kind: string } & (
  | { capabilities: ChannelCapabilities }
  | { code: string; message: string }
);

function cursorsOf(cli: Cli, ids: readonly string[]): Map<string, string | undefined> {
  const db = openServerDatabase(resolveHome(cli.env));
  try {
    const store = new ChannelStore(db);
    return new Map(ids.map((id) => [id, store.cursor(id)]));
  } finally {
    db.close();
  }
}

/** Connects each enabled channel, or the named ones, all at once. Never throws for one of them. */
export async function testedChannels(cli: Cli, named?: readonly string[]): Promise<Tested[]> {
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  const channels = Object.entries(config.channels ?? {}).filter(([id, { enabled }]) =>
    named ? named.includes(id) : enabled !== false,
  );
  if (channels.length === 0) return [];
  const cursors = cursorsOf(
    cli,
    channels.map(([id]) => id),
  );
  const test = (kinds: Parameters<typeof probeChannel>[2]["kinds"]): Promise<Tested[]> =>
    Promise.all(
      channels.map(async ([id, channel]): Promise<Tested> => {
        const { kind = "" } = channel;
        try {
          const options = { env: cli.env, kinds, cursor: cursors.get(id), timeoutMs: TIMEOUT_MS };
          return { id, kind, capabilities: await probeChannel(id, channel, options) };
        } catch (error) {
          const { code, message } = toPagurusError(error);
          return { id, kind, code, message };
        }
      }),
    );
  // Plugins are only loaded for a kind that is not ours.
  if (channels.every(([, { kind = "" }]) => isBundledChannel(kind))) return test([]);
  return withPagurus(cli, (pagurus) => test(pagurus.plugins.channels()), { onlyLook: true });
}

/** `pagurus channels test`. Exit 1 where one cannot be connected. Throws `usage_invalid`. */
export async function channelTest(
  cli: Cli,
  named: string | undefined,
  { json }: { json?: boolean },
): Promise<number> {
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  if (named !== undefined && !config.channels?.[named])
    throw usageError(`There is no channel ${JSON.stringify(named)}; pagurus channels list shows them.`);
  const tested = await testedChannels(cli, named === undefined ? undefined : [named]);
  if (json === true) printJson(cli, tested);
  else if (tested.length === 0)
    printLine(cli.stdout, "No channel is configured; pagurus channels add adds one.");
  else
    for (const one of tested)
      printLine(
        cli.stdout,
        "code" in one
          ? `${one.id} (${one.kind}): ${one.message} [${one.code}]`
          : `${one.id} (${one.kind}): works; receives ${one.capabilities.inbound}, sends ${one.capabilities.outbound}, messages of up to ${one.capabilities.maxChars} characters`,
      );
  return tested.some((one) => "code" in one) ? EXIT_FAILED : EXIT_DONE;
}

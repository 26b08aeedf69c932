import { probeChannel, type Probed } from "@pagurus/channels/create-channel";
import { ChannelStore } from "@pagurus/channels/channel-store";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { loadConfig } from "@pagurus/core/config/load-config";
import { isBundledChannel } from "@pagurus/core/config/bundled";
import { toPagurusError } from "@pagurus/contract/errors";
import { plainLine } from "@pagurus/core/data/plain-text";
import { openServerDatabase } from "@pagurus/inbox/server-database";
import { printJson, printLine, withPagurus, type Cli } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";

const TIMEOUT_MS = 30_000;
const MOST_SENTENCE = 1_000;

/** Outcome of one attempt to connect. */
export type Tested = { id: string; kind: string } & (Probed | { code: string; message: string });

function cursorsOf(cli: Cli, ids: readonly string[]): Map<string, string | undefined> {
  const db = openServerDatabase(resolveHome(cli.env));
  try {
    const store = new ChannelStore(db);
    return new Map(ids.map((id) => [id, store.cursor(id)]));
  } finally {
    db.close();
  }
}

/** Connects each enabled channel, or the named ones, all at once. `isThorough`: messages may be sent to the own account. Never throws for one of them. */
export async function testedChannels(
  cli: Cli,
  { named, isThorough }: { named?: readonly string[] | undefined; isThorough: boolean },
): Promise<Tested[]> {
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
          const options = { env: cli.env, kinds, cursor: cursors.get(id), timeoutMs: TIMEOUT_MS, isThorough };
          return { id, kind, ...(await probeChannel(id, channel, options)) };
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

function linesOf(one: Tested): string[] {
  const name = `${one.id} (${one.kind})`;
  if ("code" in one) return [`${name}: ${one.message} [${one.code}]`];
  const { capabilities, problems, notes } = one;
  const { inbound, outbound, maxChars } = capabilities;
  const state = problems.length === 0 ? "works" : "connects";
  return [
    `${name}: ${state}; receives ${inbound}, sends ${outbound}, messages of up to ${maxChars} characters`,
    ...[...problems, ...notes].map((sentence) => `  ${plainLine(sentence, MOST_SENTENCE)}`),
  ];
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
  const tested = await testedChannels(cli, {
    named: named === undefined ? undefined : [named],
    isThorough: true,
  });
  if (json === true) printJson(cli, tested);
  else if (tested.length === 0)
    printLine(cli.stdout, "No channel is configured; pagurus channels add adds one.");
  else for (const one of tested) for (const line of linesOf(one)) printLine(cli.stdout, line);
  return tested.some((one) => "code" in one || one.problems.length > 0) ? EXIT_FAILED : EXIT_DONE;
}

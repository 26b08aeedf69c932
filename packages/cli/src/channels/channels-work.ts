import { defined } from "@pagurus/core/data/defined";
import { ChannelEvents } from "@pagurus/channels/channel-events";
import type { Peer } from "@pagurus/channels/channel-peers";
import { ChannelStore, type ChannelState } from "@pagurus/channels/channel-store";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { loadConfig } from "@pagurus/core/config/load-config";
import { plainLine, shownAddress } from "@pagurus/core/data/plain-text";
import { openServerDatabase } from "@pagurus/inbox/server-database";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";

const MOST_SENTENCE = 1_000;

interface ListedChannel {
  id: string;
  kind: string | undefined;
  state?: ChannelState;
  /** Messages that wait to be sent. */
  waiting: number;
  peers: Peer[];
}

function withChannels<T>(cli: Cli, work: (channels: ChannelStore) => T): T {
  const db = openServerDatabase(resolveHome(cli.env));
  try {
    return work(new ChannelStore(db));
  } finally {
    db.close();
  }
}

function listed(cli: Cli): ListedChannel[] {
  const { config } = loadConfig({ home: resolveHome(cli.env) });
  return withChannels(cli, (store) =>
    Object.entries(config.channels ?? {}).map(([id, { kind }]) => {
      const state = store.state(id);
      return {
        id,
        kind,
        ...defined({ state }),
        waiting: store.outgoingCount(id),
        peers: store.people.all(id),
      };
    }),
  );
}

/** A sentence that may have words of a server or a person. */
function sentence(text: string): string {
  return plainLine(text, MOST_SENTENCE);
}

/** `pagurus channels list`. */
export function channelList(cli: Cli, { json }: { json?: boolean }): number {
  const channels = listed(cli);
  if (json === true) {
    printJson(cli, channels);
    return EXIT_DONE;
  }
  if (channels.length === 0)
    printLine(cli.stdout, "No channel is configured; pagurus channels add adds one.");
  for (const { id, kind = "no kind", state, waiting, peers } of channels) {
    const connection = sentence(state?.state ?? "pagurus serve has not connected it yet");
    printLine(cli.stdout, `${id} (${kind}): ${connection}`);
    if (state?.missed !== undefined) printLine(cli.stdout, `  ${sentence(state.missed)}`);
    if (waiting > 0) printLine(cli.stdout, `  ${waiting} messages wait to be sent.`);
    for (const { address, state: may, code } of peers)
      printLine(
        cli.stdout,
        may === "approved"
          ? `  ${shownAddress(address)} may speak.`
          : `  ${shownAddress(address)} asks to speak: pagurus channels approve ${code ?? ""}`,
      );
  }
  return EXIT_DONE;
}

/** `pagurus channels logs`. Throws `usage_invalid`. */
export function channelLogs(
  cli: Cli,
  channel: string | undefined,
  { count, json }: { count: string; json?: boolean },
): number {
  const wanted = Number(count);
  if (!Number.isInteger(wanted) || wanted < 1)
    throw usageError(`--count takes a number from 1, not ${count}.`);
  const { channels = {} } = loadConfig({ home: resolveHome(cli.env) }).config;
  const db = openServerDatabase(resolveHome(cli.env));
  try {
    const events = new ChannelEvents(db).last(wanted, channel);
    if (events.length === 0 && channel !== undefined && !Object.hasOwn(channels, channel))
      throw usageError(`There is no channel "${channel}"; pagurus channels list shows them.`);
    if (json === true) printJson(cli, events);
    else if (events.length === 0) printLine(cli.stdout, "Nothing has happened so far.");
    else
      for (const { at, channel: id, what, detail, times } of events)
        printLine(
          cli.stdout,
          `${new Date(at).toISOString()} ${id} ${what}: ${sentence(detail)}${times > 1 ? ` (${times} times)` : ""}`,
        );
  } finally {
    db.close();
  }
  return EXIT_DONE;
}

/** `pagurus channels approve`. Throws `usage_invalid`. */
export function channelApprove(cli: Cli, code: string): number {
  const peer = withChannels(cli, (store) => store.approve(code));
  if (!peer)
    throw usageError(
      `No one waits with the code ${JSON.stringify(code)}; a code is valid for an hour, and pagurus channels list shows those that wait.`,
    );
  printLine(cli.stdout, `${shownAddress(peer.address)} may speak in ${peer.channel} now.`);
  return EXIT_DONE;
}

/** `pagurus channels remove`. Throws `usage_invalid`. */
export function channelRemove(cli: Cli, channel: string, address: string): number {
  if (!withChannels(cli, (store) => store.remove(channel, address)))
    throw usageError(
      `The channel ${JSON.stringify(channel)} has no person ${JSON.stringify(address)}; pagurus channels list shows them.`,
    );
  printLine(cli.stdout, `${shownAddress(address)} may no longer speak in ${channel}.`);
  return EXIT_DONE;
}

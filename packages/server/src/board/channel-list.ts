/** The configured channels, their connection and their people, from the server's database; the channels themselves need not run. */
import { ChannelStore } from "@pagurus/channels/channel-store";
import type { Peer } from "@pagurus/channels/channel-peers";
import { PagurusError } from "@pagurus/contract/errors";
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { Database } from "@pagurus/core/data/sqlite";
import { defined } from "@pagurus/core/data/defined";
import type { Channel } from "@pagurus/api/types";

function person({ address, name, state, code, askedAt }: Peer): Channel["people"][number] {
  return { address, state, askedAt: new Date(askedAt).toISOString(), ...defined({ name, code }) };
}

export function channelList(db: Database, config: PagurusConfig): Channel[] {
  const store = new ChannelStore(db);
  return Object.entries(config.channels ?? {}).map(([id, { kind, enabled }]) => {
    const { state, since, missed } = store.state(id) ?? {};
    return {
      id,
      enabled: enabled !== false,
      waiting: store.outgoingCount(id),
      people: store.people.all(id).map(person),
      ...defined({
        kind,
        state,
        missed,
        since: since === undefined ? undefined : new Date(since).toISOString(),
      }),
    };
  });
}

/** Throws `usage_invalid` where no one waits with the code. */
export function approvePerson(db: Database, code: string): { channel: string; address: string } {
  const peer = new ChannelStore(db).approve(code);
  if (!peer)
    throw new PagurusError(
      "usage_invalid",
      `No one waits with the code ${JSON.stringify(code)}; a code is valid for an hour, and the list of channels has those that wait.`,
    );
  return { channel: peer.channel, address: peer.address };
}

/** Throws `usage_invalid` where the channel has no such person. */
export function removePerson(db: Database, channel: string, address: string): void {
  if (new ChannelStore(db).remove(channel, address)) return;
  throw new PagurusError(
    "usage_invalid",
    `The channel ${JSON.stringify(channel)} has no person ${JSON.stringify(address)}; the list of channels shows them.`,
  );
}

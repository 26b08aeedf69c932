/** The link of a channel with a store of its own, as the host has it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChannelEvents } from "../../../packages/channels/src/channel-events.ts";
import { ChannelLink } from "../../../packages/channels/src/channel-link.ts";
import { ChannelStore, type Place } from "../../../packages/channels/src/channel-store.ts";
import type { Incoming } from "../../../packages/channels/src/incoming.ts";
import type { Channel } from "../../../packages/contract/src/channel/channel.ts";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { SYSTEM_CLOCK, type Clock } from "../../../packages/core/src/data/clock.ts";
import { until } from "../../runner/until.ts";

export interface SendingLink {
  store: ChannelStore;
  link: ChannelLink;
  /** Shows the beginning of an answer as a message that grows. */
  grow(workId: string, place: Place, delta: string): void;
  /** Queues the whole answer. */
  complete(workId: string, place: Place, text: string): void;
  /** Ids of queued messages with their states, in order. */
  states(): string[];
  /** How often the channel was connected. */
  connections(): number;
  end(): Promise<void>;
}

export async function startLink(channel: Channel, clock: Clock = SYSTEM_CLOCK): Promise<SendingLink> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-link-"));
  const db = openServerDatabase(home);
  const store = new ChannelStore(db);
  const incoming = {
    receive: (_message: unknown, cursor: string | undefined) => {
      if (cursor !== undefined) store.setCursor(channel.id, cursor);
      return Promise.resolve();
    },
  } as unknown as Incoming;
  const events = new ChannelEvents(db);
  const link = new ChannelLink({ channel, store, events, incoming, logger: silentLogger, clock });
  link.start();
  await until(() => store.state(channel.id)?.state?.startsWith("connected") === true);
  return {
    store,
    link,
    grow: (workId, place, delta) => {
      store.addWork(workId, place);
      link.outgoing.drafts.begin(workId, place);
      link.outgoing.drafts.event(workId, "text.delta", { delta });
    },
    complete: (workId, place, text) => {
      store.addWork(workId, place);
      store.answer(workId, place, [{ text }]);
      link.outgoing.drafts.end(workId);
      link.outgoing.wake();
    },
    states: () =>
      db
        .all<{ id: string; state: string }>("SELECT id, state FROM channel_outgoing ORDER BY seq")
        .map(({ id, state }) => `${id} ${state}`),
    connections: () => {
      const all = events.last(500, channel.id);
      return all.filter(({ what }) => what === "connected").length;
    },
    end: async () => {
      await link.stop();
      db.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

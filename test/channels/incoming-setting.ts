/** The receiving side of a channel over a real inbox whose work is not run. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channelSettings } from "../../packages/channels/src/channel-settings.ts";
import { ChannelStore } from "../../packages/channels/src/channel-store.ts";
import { GroupLines } from "../../packages/channels/src/group-lines.ts";
import { Incoming } from "../../packages/channels/src/incoming.ts";
import type { ChannelConfig } from "../../packages/core/src/config/config-types.ts";
import type { IncomingMessage } from "../../packages/contract/src/channel/channel.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { Dispatcher } from "../../packages/inbox/src/dispatcher.ts";
import type { Approvals } from "../../packages/inbox/src/approvals.ts";
import type { Inbox } from "../../packages/inbox/src/inbox.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { TurnWork, Work } from "../../packages/inbox/src/work.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import type { PagurusHost } from "../../packages/contract/src/host/pagurus-host.ts";

export const CHANNEL = "home";

export class IncomingSetting {
  readonly #home = mkdtempSync(join(tmpdir(), "pagurus-incoming-"));
  readonly #db: Database = openServerDatabase(this.#home);
  readonly store = new ChannelStore(this.#db);
  readonly inbox: Inbox;
  readonly approvals: Approvals;
  readonly #incoming: Incoming;
  /** What the channel's log has of refused messages. */
  readonly refused: string[] = [];
  #received = 0;

  constructor(config: ChannelConfig) {
    const { inbox, events, approvals } = localWork(this.#db);
    this.inbox = inbox;
    this.approvals = approvals;
    const none = (): never => {
      throw new Error("nothing is run");
    };
    const pagurus = {
      run: none,
      compact: none,
      command: none,
      sessions: none,
      renew: none,
      commands: () => [],
    };
    const dispatcher = new Dispatcher({
      inbox,
      events,
      approvals,
      host: pagurus as unknown as PagurusHost,
      logger: silentLogger,
      maxTurns: 0,
    });
    this.#incoming = new Incoming(
      {
        store: this.store,
        lines: new GroupLines(this.#db),
        inbox,
        dispatcher,
        approvals,
        pagurus,
        logger: silentLogger,
        sendsFiles: true,
        queued: () => undefined,
        refused: (why) => this.refused.push(why),
        addedLate: () => undefined,
      },
      channelSettings(CHANNEL, config, this.#home),
    );
  }

  async receive(message: Omit<IncomingMessage, "id"> & { id?: string }): Promise<void> {
    this.#received += 1;
    const id = `m-${this.#received}`;
    await this.#incoming.receive({ id, ...message }, id);
  }

  /** Accepted work, oldest first. */
  get work(): (Work & { request: TurnWork })[] {
    return this.inbox.open() as (Work & { request: TurnWork })[];
  }

  /** All that a model would get of a piece of work. */
  static textOf({ prompt, parts = [] }: TurnWork): string {
    return [prompt, ...parts.map((part) => (part.type === "text" ? part.text : "[image]"))].join("\n");
  }

  /** What is to be sent, oldest first. */
  sent(): { to: string; text: string }[] {
    const sent: { to: string; text: string }[] = [];
    for (let next = this.store.nextOutgoing(CHANNEL); next; next = this.store.nextOutgoing(CHANNEL)) {
      sent.push({ to: next.message.to, text: next.message.text });
      this.store.setOutgoing(next.message.id, "sent");
    }
    return sent;
  }

  remove(): void {
    this.#db.close();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** The receiving side of a channel over a real inbox whose work is not run. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channelSettings } from "../../src/channels/channel-settings.ts";
import { ChannelStore } from "../../src/channels/channel-store.ts";
import { GroupLines } from "../../src/channels/group-lines.ts";
import { Incoming } from "../../src/channels/incoming.ts";
import type { ChannelConfig } from "../../src/config/config-types.ts";
import type { IncomingMessage } from "../../src/contract/channel/channel.ts";
import type { Database } from "../../src/data/sqlite.ts";
import { Dispatcher } from "../../src/inbox/dispatcher.ts";
import type { Approvals } from "../../src/inbox/approvals.ts";
import type { Inbox } from "../../src/inbox/inbox.ts";
import { localWork } from "../../src/inbox/open-work.ts";
import { openServerDatabase } from "../../src/inbox/server-database.ts";
import type { TurnWork, Work } from "../../src/inbox/work.ts";
import { silentLogger } from "../../src/platform/log.ts";
import type { PagurusHost } from "../../src/contract/host/pagurus-host.ts";

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

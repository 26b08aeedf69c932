/** Receives what is new in an archive: of the account, or of a group. */
import type { ChannelPort, IncomingMessage } from "@pagurus/contract/channel/channel";
import { CursorGone, type ArchivedMessage, type ArchiveQuery, type XmppArchive } from "./xmpp-archive.ts";
import type { XmppElement } from "./xmpp-client.ts";
import { BEGINNING, type ArchivePlace, type XmppPlaces } from "./xmpp-cursor.ts";

/** Clocks of host and server may differ by this much, ms. */
export const CLOCKS_MS = 5 * 60_000;

export interface ArchiveReaderParts {
  archive: XmppArchive;
  port: ChannelPort;
  places: XmppPlaces;
  /** Address of the group that has the archive; undefined: the account's own. */
  group?: string;
  /** Begins a sentence. */
  name: string;
  /** Undefined for what is not received. Throws the server's errors. */
  incoming(
    message: XmppElement,
    id: string,
  ): IncomingMessage | undefined | Promise<IncomingMessage | undefined>;
}

/** The server's time of a message; without one a time that is certainly not later. */
function placeOf({ id, at = Date.now() - CLOCKS_MS }: ArchivedMessage): ArchivePlace {
  return { id, at };
}

/** The newest message, as a place; in an empty archive the beginning. */
export function endPlace([newest]: readonly ArchivedMessage[]): ArchivePlace {
  return newest ? placeOf(newest) : { id: BEGINNING, at: Date.now() - CLOCKS_MS };
}

export class ArchiveReader {
  readonly #parts: ArchiveReaderParts;

  constructor(parts: ArchiveReaderParts) {
    this.#parts = parts;
  }

  get #place(): ArchivePlace | undefined {
    return this.#parts.places.of(this.#parts.group);
  }

  /** Throws the server's errors, `store_write_failed`. */
  async catchUp(): Promise<void> {
    const place = this.#place;
    // What was written before the first connection is not for us.
    if (place === undefined) return this.#moveTo(await this.#end());
    try {
      await this.#read(place.id === BEGINNING ? {} : { after: place.id });
    } catch (error) {
      if (!(error instanceof CursorGone)) throw error;
      await this.#recover();
    }
    // A cursor of a version without times.
    const { id, at } = this.#place ?? place;
    if (at === undefined) await this.#moveTo({ id, at: Date.now() - CLOCKS_MS });
  }

  async #end(): Promise<ArchivePlace> {
    const { messages } = await this.#parts.archive.page({ before: "", max: 1 });
    return endPlace(messages);
  }

  async #moveTo(place: ArchivePlace, message?: IncomingMessage): Promise<void> {
    await this.#parts.places.move(this.#parts.group, place, message);
  }

  /** Its ids may be others now, such as after a restore: only the time shows what was received. */
  async #recover(): Promise<void> {
    const { port, name } = this.#parts;
    const at = this.#place?.at;
    const end = await this.#end();
    if (at === undefined) {
      port.missed(
        `${name} no longer has the last message, whose time is not known: what came since is missed.`,
      );
      return this.#moveTo(end);
    }
    port.missed(`${name} no longer has the last message; what it removed may be missing.`);
    const isMoved = await this.#read({ since: at }, at);
    if (!isMoved) await this.#moveTo({ id: end.id, at });
  }

  /** Receives what the query finds, without that up to a time, ms since the epoch. False where it finds nothing. */
  async #read(query: ArchiveQuery, until?: number): Promise<boolean> {
    const { archive, incoming } = this.#parts;
    let isMoved = false;
    let skipped: ArchivePlace | undefined;
    for await (const found of archive.read(query)) {
      const { id, at, message } = found;
      const isKnown = until !== undefined && at !== undefined && at <= until;
      const received = isKnown ? undefined : await incoming(message, id);
      skipped = received ? undefined : placeOf(found);
      if (received) {
        const writtenAt = at === undefined ? {} : { writtenAt: at };
        await this.#moveTo(placeOf(found), { ...received, ...writtenAt });
      }
      isMoved = true;
    }
    if (skipped) await this.#moveTo(skipped);
    return isMoved;
  }
}

/** The places in the archives of an account and of its groups, as one cursor. */
import type { ChannelPort, IncomingMessage } from "@pagurus/contract/channel/channel";

/** Cursor of an archive that was empty at the first connection. */
export const BEGINNING = "beginning";

/** A message of an archive, up to which all is received. */
export interface ArchivePlace {
  id: string;
  /** When it was written, ms since the epoch; undefined in a cursor of a version without times. */
  at: number | undefined;
}

export interface ArchivePlaces {
  /** Id in the account's archive. */
  own?: string;
  ownAt?: number;
  /** Ids in the archives of groups, by address. */
  groups: Readonly<Record<string, string>>;
  groupsAt?: Readonly<Record<string, number>>;
}

/** A cursor of a version without groups is the account's id alone. */
export function placesOf(cursor: string | undefined): ArchivePlaces {
  if (cursor === undefined) return { groups: {} };
  if (!cursor.startsWith("{")) return { own: cursor, groups: {} };
  return JSON.parse(cursor) as ArchivePlaces;
}

/** Without a group in the account's own archive. */
export function placeIn(cursor: string | undefined, group?: string): ArchivePlace | undefined {
  const { own, ownAt, groups, groupsAt } = placesOf(cursor);
  const id = group === undefined ? own : groups[group];
  return id === undefined ? undefined : { id, at: group === undefined ? ownAt : groupsAt?.[group] };
}

/** `at`: time of the message, ms since the epoch. */
export function withOwn(cursor: string | undefined, id: string, at?: number): string {
  return JSON.stringify({ ...placesOf(cursor), own: id, ownAt: at });
}

export function withGroup(cursor: string | undefined, group: string, id: string, at?: number): string {
  const { groups, groupsAt, ...rest } = placesOf(cursor);
  const times = at === undefined ? groupsAt : { ...groupsAt, [group]: at };
  return JSON.stringify({ ...rest, groups: { ...groups, [group]: id }, groupsAt: times });
}

/** For an archive that is gone: should it come back, what was received without it is not received again. */
export function withoutPlace(cursor: string | undefined, group?: string): string {
  const { own, ownAt, groups, groupsAt = {} } = placesOf(cursor);
  if (group === undefined) return JSON.stringify({ groups, groupsAt });
  const without = <T>(all: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([address]) => address !== group));
  return JSON.stringify({ own, ownAt, groups: without(groups), groupsAt: without(groupsAt) });
}

/** Moves the places, one write at a time: an account and a new group may move at once. */
export class XmppPlaces {
  readonly #port: ChannelPort;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(port: ChannelPort) {
    this.#port = port;
  }

  /** Without a group in the account's own archive. */
  of(group?: string): ArchivePlace | undefined {
    return placeIn(this.#port.cursor, group);
  }

  /** With the message that is received by it. Throws `store_write_failed`. */
  async move(group: string | undefined, { id, at }: ArchivePlace, message?: IncomingMessage): Promise<void> {
    await this.#write(
      (cursor) => (group === undefined ? withOwn(cursor, id, at) : withGroup(cursor, group, id, at)),
      message,
    );
  }

  /** Of a group whose archive is gone. Throws `store_write_failed`. */
  async forget(group: string): Promise<void> {
    if (this.of(group) !== undefined) await this.#write((cursor) => withoutPlace(cursor, group));
  }

  async #write(next: (cursor: string | undefined) => string, message?: IncomingMessage): Promise<void> {
    const written = this.#writing.then(() => this.#port.receive(message, next(this.#port.cursor)));
    this.#writing = written.catch(() => undefined);
    await written;
  }
}

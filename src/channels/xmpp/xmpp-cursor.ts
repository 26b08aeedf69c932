/** The places in the archives of an account and of its groups, as one cursor. */

/** Cursor of an archive that was empty at the first connection. */
export const BEGINNING = "beginning";

export interface ArchivePlaces {
  /** Id in the account's archive. */
  own?: string;
  /** Ids in the archives of groups, by address. */
  groups: Readonly<Record<string, string>>;
}

/** A cursor of a version without groups is the account's id alone. */
export function placesOf(cursor: string | undefined): ArchivePlaces {
  if (cursor === undefined) return { groups: {} };
  if (!cursor.startsWith("{")) return { own: cursor, groups: {} };
  return JSON.parse(cursor) as ArchivePlaces;
}

export function withOwn(cursor: string | undefined, id: string): string {
  return JSON.stringify({ ...placesOf(cursor), own: id });
}

export function withGroup(cursor: string | undefined, group: string, id: string): string {
  const { groups, ...rest } = placesOf(cursor);
  return JSON.stringify({ ...rest, groups: { ...groups, [group]: id } });
}

/** Conversations to continue, and their lines to pick from. */
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { Choice } from "./command-types.ts";
import { ago, oneLine } from "./layout.ts";

/** Each by its name, its first words, or its key; the key is found by typing too. */
export function sessionChoices(records: readonly SessionRecord[]): Choice[] {
  const now = Date.now();
  return records.map(({ sessionKey, name, title, updatedAt }) => ({
    value: sessionKey,
    label: oneLine(name ?? title ?? sessionKey, 60),
    description: `${ago(updatedAt, now)} · ${sessionKey}`,
  }));
}

/**
 * The conversations that can be continued in place of this one, last used first: those of its folder. One without a folder, as with
 * `session.scope: "main"`, has beside them those without one that began in the same place, for example its forks.
 */
export function otherConversations(store: SessionStore, sessionKey: string, cwd: string): SessionRecord[] {
  const own = store.find(sessionKey);
  const isOther = (record: SessionRecord): boolean =>
    record.entryCount > 0 && record.sessionKey !== sessionKey;
  const inFolder = store.inFolder(own?.folder ?? cwd);
  if (!own || own.folder !== undefined) return inFolder.filter(isOther);
  const beside = store
    .list()
    .filter(({ current, folder, cwd: place }) => current && folder === undefined && place === own.cwd);
  return [...beside, ...inFolder]
    .filter(isOther)
    .toSorted((left, right) => right.updatedAt.localeCompare(left.updatedAt));
}

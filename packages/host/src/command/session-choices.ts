/** Conversations as lines to pick from. */
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

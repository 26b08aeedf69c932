import { PagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";

/** Throws `session_not_found`. */
export function assertSession(store: SessionStore, key: string): void {
  if (store.find(key)) return;
  throw new PagurusError(
    "session_not_found",
    `There is no session "${key}" to look at; pagurus sessions list --all shows them all.`,
  );
}

/** Cleanup when a session is deleted or ends. */
import { rmSync } from "node:fs";
import { openLosslessStore } from "../store/lossless-store.ts";
import { rebuildFolder } from "./store-files.ts";

/** Erases sessions from the store, down to the bytes, and from an interrupted rebuild. */
export async function forgetSessions(agentDir: string, sessionIds: readonly string[]): Promise<void> {
  rmSync(rebuildFolder(agentDir), { recursive: true, force: true });
  const store = openLosslessStore(agentDir);
  try {
    await store.deleteSession(sessionIds);
  } finally {
    await store.close();
  }
}

/** Drops the debts of an ended generation: no context shows it again, so model summaries are not needed. Its texts and extracts stay. */
export async function forgetDebts(agentDir: string, sessionId: string): Promise<void> {
  const store = openLosslessStore(agentDir);
  try {
    if (!store.has(sessionId)) return;
    for (const { debtId } of store.debts({ sessionId })) store.settleDebt(debtId);
  } finally {
    await store.close();
  }
}

/** What ends with a session. */
import { rmSync } from "node:fs";
import { openLosslessStore } from "../store/store.ts";
import { rebuildFolder } from "./place.ts";

/** Every generation of a key that the store has, down to the bytes; a rebuild that was cut off may hold its words too. */
export async function forgetSession(
  agentDir: string,
  { sessionKey, sessionId }: { sessionKey: string; sessionId: string },
): Promise<void> {
  rmSync(rebuildFolder(agentDir), { recursive: true, force: true });
  const store = openLosslessStore(agentDir);
  try {
    const same = store.sessions().filter((session) => session.sessionKey === sessionKey);
    await store.deleteSession([...new Set([sessionId, ...same.map((session) => session.sessionId)])]);
  } finally {
    await store.close();
  }
}

/** No context shows an ended generation again, so no model has to be paid for it. Its words and extracts stay. */
export async function forgetDebts(agentDir: string, sessionId: string): Promise<void> {
  const store = openLosslessStore(agentDir);
  try {
    if (!store.session(sessionId)) return;
    for (const { debtId } of store.debts({ sessionId })) store.settleDebt(debtId);
  } finally {
    await store.close();
  }
}

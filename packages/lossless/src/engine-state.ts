/** Engine state for `pagurus status`. */
import type { EngineStatus, EngineStatusParams } from "@pagurus/contract/engine/engine-params";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { epochOf, headMessage } from "./epoch.ts";
import { sharesOf, type LosslessSettings } from "./lossless-settings.ts";
import type { LosslessStore } from "./store/lossless-store.ts";
import type { Debt } from "./store/store-types.ts";
import { defined } from "@pagurus/core/data/defined";

/** Reads the state; writes nothing. Throws the store's errors. */
export function engineState(
  store: LosslessStore,
  settings: LosslessSettings,
  { sessionId, tokenBudget }: EngineStatusParams,
  now: number,
): EngineStatus {
  const aside = store.damagedFiles().filter((file) => !file.endsWith("-wal"));
  const notes = aside.map(
    (file) =>
      `A damaged database was set aside as ${file} and rebuilt from the transcripts, without its pins; delete the file when you do not need it.`,
  );
  const epoch = store.session(sessionId) && epochOf(store.frontier(sessionId));
  return {
    ...(epoch
      ? {
          epoch: {
            id: epoch.id,
            tokens: messageTokens(headMessage(epoch)),
            firstKeptEntryId: epoch.firstKeptEntryId,
          },
        }
      : {}),
    trigger: triggerOf(settings, tokenBudget, epoch),
    debts: debtsState(store.debts(), now),
    ...(notes.length > 0 ? { notes } : {}),
  };
}

/** A new epoch also has to gain something: above one that began large, the next one comes later. */
function triggerOf(
  settings: LosslessSettings,
  tokenBudget: number | undefined,
  epoch: { startTokens: number } | undefined,
): number {
  if (tokenBudget === undefined) return settings.trigger;
  const { trigger, minimumGain } = sharesOf(settings, tokenBudget);
  return epoch ? Math.max(trigger, epoch.startTokens + minimumGain) : trigger;
}

function debtsState(debts: readonly Debt[], now: number): NonNullable<EngineStatus["debts"]> {
  // Sorted by next attempt: the first is tried next, the last failure waits longest.
  const [first] = debts;
  const failed = debts.findLast(({ errorCode }) => errorCode !== undefined);
  return {
    count: debts.length,
    attempts: Math.max(0, ...debts.map(({ attempts }) => attempts)),
    ...(first && first.nextAt > now ? { nextAt: new Date(first.nextAt).toISOString() } : {}),
    ...defined({ errorCode: failed?.errorCode }),
  };
}

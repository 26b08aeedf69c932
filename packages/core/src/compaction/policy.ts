/**
 * Who compacts, and when: the reserve of a window, and whether the in-attempt lane is on. Pure. Source:
 * interceptCompaction specification (headroom, the carve-out that keeps the event alive); context-engine page,
 * `ownsCompaction`.
 */

/** Default reserve for the answer, tokens. */
const DEFAULT_RESERVE_TOKENS = 16_384;
const DEFAULT_RESERVE_FLOOR = 20_000;
/** Limit on the reserve as a share of the window, so that a small window still fits a conversation. */
const MOST_RESERVED = 0.25;

/** The flags of an engine that decide who compacts. */
export interface CompactionFlags {
  ownsCompaction?: boolean;
  interceptsCompaction?: boolean;
}

export interface ReserveSettings {
  reserveTokens?: number;
  reserveTokensFloor?: number;
}

/** Reserved tokens of a window. The floor is 0 for an engine that owns or intercepts; the cap is applied last. */
export function reservedTokens(
  window: number,
  settings: ReserveSettings | undefined,
  flags: CompactionFlags,
): number {
  const engineKeepsHeadroom = flags.ownsCompaction === true || flags.interceptsCompaction === true;
  const floor = engineKeepsHeadroom ? 0 : (settings?.reserveTokensFloor ?? DEFAULT_RESERVE_FLOOR);
  const wanted = Math.max(settings?.reserveTokens ?? DEFAULT_RESERVE_TOKENS, floor);
  return Math.min(wanted, Math.floor(window * MOST_RESERVED));
}

/**
 * Whether the run's own threshold check starts compactions. Never for a provider that truncates silently, whatever the
 * engine declares; else always for an engine that intercepts, whose handler would be dead code otherwise; else not for
 * an engine that owns compaction, nor in safeguard mode.
 */
export function inAttemptEnabled(
  flags: CompactionFlags,
  mode: "default" | "safeguard",
  truncatesSilently: boolean,
): boolean {
  if (truncatesSilently) return false;
  if (flags.interceptsCompaction === true) return true;
  return flags.ownsCompaction !== true && mode !== "safeguard";
}

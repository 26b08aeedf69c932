/** Reports of work between turns: compaction and maintenance. */
import type { Degradation } from "./events.ts";
/** Result of `/compact`. Token counts are estimates. */
export interface CompactionReport {
    compacted: boolean;
    /** The result for the runtime's own thread as well, as `<runtime>NativeCompaction: {compacted, reason?}`. */
    details?: Record<string, unknown>;
    /** Why not. */
    reason?: string;
    tokensBefore?: number;
    tokensAfter?: number;
    /** Degradations on the way, such as a failing model, so that the summary is an extract. */
    degraded: Degradation[];
}
/** Result of the engine's maintenance of a session. */
export interface MaintenanceReport {
    /** False where the engine has no such work, or where it failed. */
    done: boolean;
    /** The engine's report of its work, or why it did none. */
    reason?: string;
    degraded: Degradation[];
}

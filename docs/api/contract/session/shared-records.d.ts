/** What hosts that share sessions report to each other beside the transcripts. */
import type { SessionReader } from "./writer.ts";
/** The native thread of a runtime that was bound to a session last. */
export interface BoundThread {
    nativeId: string;
    /** Name of the host that has the thread's files. */
    host: string;
    /** It is this host, and no other one has had the session since. */
    isUsable: boolean;
}
/** Sums of costs among hosts. A scope is a session or a day; a source is a host's ledger, or a sum carried over from another session. */
export interface SharedSpend {
    /** US dollars of a scope by source. Throws `store_read_failed`, without long retries where the database cannot be reached. */
    sums(scope: string): ReadonlyMap<string, number>;
    /** Raises the sums of sources to these; a sum only grows. Never throws: a lost sum is in the next report. */
    report(scope: string, sums: ReadonlyMap<string, number>): void;
}
/** A session of any host. */
export interface FoundSession {
    sessionKey: string;
    sessionId: string;
    /** Of its transcript, which is on this host then. */
    bytes: number;
    /** The caller closes it. Throws `session_not_found`, `store_read_failed`. */
    open(): SessionReader;
}
/** Sessions of all hosts, for a search that is not limited to what this host has read. */
export interface SharedSearch {
    /**
     * Sessions whose messages have all words of a text, else some; those with newer ones first. Without sessions that a program of this host
     * writes to. Throws `store_read_failed`, `store_write_failed`.
     */
    withWords(words: string): FoundSession[];
    /** Of these sessions the ones that were deleted, at any host. Throws `store_read_failed`. */
    deleted(sessionIds: readonly string[]): string[];
}
/** Calls that write return at once: their data arrives later, in order for each session. */
export interface SharedRecords {
    /** Never absent. */
    readonly spend: SharedSpend;
    /** Never absent. */
    readonly search: SharedSearch;
    /**
     * Bytes that this host's writer of a session just appended to its file of receipts, at an offset. The store keeps the files of the other
     * hosts up to date. Throws once what refused earlier ones, `lock_lost` or `store_write_failed`; further ones are dropped then.
     */
    receipts(sessionId: string, offset: number, bytes: Uint8Array): void;
    /** Notes which native thread of this host a runtime continues; undefined: none. Never throws: after a failure the thread is unusable. */
    bind(sessionId: string, runtime: string, nativeId: string | undefined): void;
    /** Throws `store_read_failed`. */
    boundThread(sessionId: string, runtime: string): BoundThread | undefined;
}

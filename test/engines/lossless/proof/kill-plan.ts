/** What the killed process and the test that kills it both know. */
import { TURN } from "../store/killed.ts";

/** Entries of the session that is written to; whole turns. */
export const KILLED_ENTRIES = 60 * TURN;

/** Constants shared by the killed process and the test that kills it. */
import { TURN } from "../store/killed.ts";

/** Number of entries of the written session; complete turns. */
export const KILLED_ENTRIES = 60 * TURN;

/** Names this process among all that use a database; in its claims of work and its leases of sessions. */
import { randomBytes } from "node:crypto";

const BYTES = 6;

export const PROCESS_ID = randomBytes(BYTES).toString("hex");

/** Characters. */
export const PROCESS_ID_LENGTH = 2 * BYTES;

/** Who sends a request, and what they may do. */
import type { Authority } from "../../contract/host/authority.ts";

export type Caller = Authority;

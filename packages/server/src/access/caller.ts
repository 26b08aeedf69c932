/** Who sends a request, and what they may do. */
import type { Authority } from "@pagurus/contract/host/authority";

export type Caller = Authority;

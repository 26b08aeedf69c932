import type { Clock } from "@pagurus/core/data/clock";
import type { WebhookRoutes } from "./webhook/webhook-routes.ts";

/** Parts of the host that a bundled channel uses. */
export interface ChannelParts {
  /** Routes of the server that runs; absent for a command, where nothing is received. */
  webhooks?: WebhookRoutes | undefined;
  /** Default: the machine's. */
  clock?: Clock | undefined;
}

import { boardRoutes } from "./board-routes.ts";
import { commandRoutes } from "./command-routes.ts";
import { diffRoutes } from "./diff-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { hostRoutes } from "./host-routes.ts";
import { inspectRoutes } from "./inspect-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import type { ApiRoute } from "./route.ts";
import { talkRoutes } from "./talk-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { terminalRoutes } from "./terminal-routes.ts";
import { turnRoutes } from "./turn-routes.ts";
import { usageRoutes } from "./usage-routes.ts";

/** Every route of our API, below `/api/v1`, in the order of its document. */
export const apiRoutes: readonly ApiRoute[] = [
  ...sessionRoutes,
  ...turnRoutes,
  ...commandRoutes,
  ...eventRoutes,
  ...hostRoutes,
  ...diffRoutes,
  ...terminalRoutes,
  ...jobRoutes,
  ...inspectRoutes,
  ...usageRoutes,
  ...boardRoutes,
  ...talkRoutes,
];

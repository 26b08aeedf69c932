/** `import { createPagurus } from "pagurus"`: the host as a library. */
export { createPagurus } from "./create.ts";
export { PagurusError } from "./contract/errors.ts";
export { OWNER, type Authority } from "./contract/host/authority.ts";
export type { Pagurus, PagurusOptions } from "./contract/host/host.ts";
export type { PagurusHost } from "./contract/host/pagurus-host.ts";
export type { RunRequest, SpawnedAgent, SpawnRequest, TurnRun } from "./contract/host/run.ts";
export type { TurnEvent } from "./contract/host/events.ts";

/** `import { createPagurus } from "pagurus"`: the host as a library. */
export { createPagurus } from "./app.ts";
export { PagurusError } from "./contract/errors.ts";
export type { Pagurus, PagurusOptions } from "./contract/host.ts";
export type { RunRequest, SpawnedAgent, SpawnRequest, TurnRun } from "./contract/run.ts";
export type { TurnEvent } from "./contract/events.ts";

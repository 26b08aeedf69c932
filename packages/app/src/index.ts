/** `import { createPagurus } from "pagurus"`: the host as a library. */
export { createPagurus } from "./create.ts";
export { PagurusError } from "@pagurus/contract/errors";
export { OWNER, type Authority } from "@pagurus/contract/host/authority";
export type { Pagurus, PagurusOptions } from "@pagurus/contract/host/host";
export type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
export type { RunRequest, SpawnedAgent, SpawnRequest, TurnRun } from "@pagurus/contract/host/run";
export type { TurnEvent } from "@pagurus/contract/host/events";

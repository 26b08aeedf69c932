/** `import { createPagurus } from "pagurus"`: the host as a library. */
export { createPagurus } from "./app.ts";
export { PagurusError } from "./contract/errors.ts";
export type { Pagurus, PagurusOptions, RunRequest, TurnRun } from "./contract/host.ts";
export type { TurnEvent } from "./contract/events.ts";

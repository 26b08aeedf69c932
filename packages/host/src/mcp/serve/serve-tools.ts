/** Serves host tools to a harness that supports MCP servers. */
import type { ServeOptions } from "./served-call.ts";
import { openBridgeSocket } from "./socket.ts";

export type { ServedCall } from "./served-call.ts";

export interface ServedTools {
  /**
   * A stdio MCP server that a harness may start any number of times, also in parallel. Each start is a small process that
   * ends when its standard input or this host does. Contains no secret. Add `env` to the child's environment.
   */
  readonly server: { command: string; args: string[]; env: Record<string, string> };
  /** A client has listed the tools, so that its model may have them. */
  readonly isListed: boolean;
  /** Waits until a client has listed the tools; false when none did within `deadlineMs`. Never throws. */
  listed(deadlineMs: number): Promise<boolean>;
  /**
   * Call it when `tools()` returns another set, such as at the start of a turn. When the fingerprint changed, notifies the
   * clients (`notifications/tools/list_changed`) and waits until each client that had listed the tools has listed them again.
   * Returns true, or false when one did not within `deadlineMs` (default 1000). Never throws.
   */
  refresh(deadlineMs?: number): Promise<boolean>;
  /** Aborts open calls, ends all bridges and removes the files. Never throws. */
  close(): Promise<void>;
}

const REFRESH_MS = 1_000;

/**
 * Serves a turn's tools as a stdio MCP server, with their names, descriptions and schemas unchanged. Hooks and permission run
 * in `ToolSet.call`; a client's cancel aborts that call; calls may run in parallel. While a call runs, a client that
 * requested progress gets a notification every few seconds, so that it does not time out. Serves both revisions of the
 * protocol, the one that begins with `initialize` and the one that does not. Throws `runtime_failed`.
 */
export async function serveTools(options: ServeOptions): Promise<ServedTools> {
  const { ToolServer } = await import("./tool-server.ts");
  const server = new ToolServer(options);
  const socket = await openBridgeSocket((connection) => server.connect(connection));
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    options.signal?.removeEventListener("abort", onAbort);
    closing ??= server.close().finally(() => socket.close());
    return closing;
  };
  const onAbort = (): void => void close();
  if (options.signal?.aborted) await close();
  else options.signal?.addEventListener("abort", onAbort, { once: true });
  return {
    // A user's Node options are meant for programs, not for this: a loader or an inspector would only slow it down.
    server: { command: process.execPath, args: [socket.script], env: { NODE_OPTIONS: "" } },
    get isListed() {
      return server.isListed;
    },
    listed: (deadlineMs) => server.listed(deadlineMs),
    refresh: (deadlineMs = REFRESH_MS) => server.refresh(deadlineMs),
    close,
  };
}

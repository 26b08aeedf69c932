/** Host tools for a harness that takes MCP servers. */
import type { ServeOptions } from "./served-call.ts";
import { openBridgeSocket } from "./socket.ts";

export type { ServedCall } from "./served-call.ts";

export interface ServedTools {
  /**
   * A stdio MCP server that a harness may start as often as it likes, several at a time. Each start is a small process
   * that ends when its standard input or this host does. Holds no secret. `env` is to be added to the child's.
   */
  readonly server: { command: string; args: string[]; env: Record<string, string> };
  /**
   * Call it when `tools()` answers another set, such as at the start of a turn. Where the fingerprint is another one the
   * clients are told (`notifications/tools/list_changed`), and it waits until each client that had listed the tools has
   * listed them anew: true, or false when one did not within `deadlineMs` (default 1000). Never throws.
   */
  refresh(deadlineMs?: number): Promise<boolean>;
  /** Aborts open calls, ends all bridges and leaves nothing on the disk. Never throws. */
  close(): Promise<void>;
}

const REFRESH_MS = 1_000;

/**
 * Offers a turn's tools as a stdio MCP server, with names, descriptions and schemas as they are. Hooks and permission run
 * in `ToolSet.call`; a client's cancel aborts that call; calls may run at the same time. While a call runs a client that
 * asked for progress is told of it every few seconds, so that it waits. Both revisions of the protocol are served, the one
 * that begins with `initialize` and the one that does not. Throws `runtime_failed`.
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
    // What a user sets for Node is meant for programs, not for this: a loader or an inspector would only slow it.
    server: { command: process.execPath, args: [socket.script], env: { NODE_OPTIONS: "" } },
    refresh: (deadlineMs = REFRESH_MS) => server.refresh(deadlineMs),
    close,
  };
}

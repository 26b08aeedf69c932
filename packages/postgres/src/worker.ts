/** The thread that owns the connections of one database. It answers each call, and reports a writer that lost its lease. */
import { workerData } from "node:worker_threads";
import { toPagurusError } from "@pagurus/contract/errors";
import type { BridgeStart, Call, Reply } from "./bridge.ts";
import { SharedDatabase } from "./shared-database.ts";

const { target, port, signal } = workerData as BridgeStart;

function send(reply: Reply): void {
  port.postMessage(reply);
  Atomics.add(signal, 0, 1);
  Atomics.notify(signal, 0);
}

const database = new SharedDatabase(target, (lane, error) => send({ lane, error: plain(error) }));

async function answer({ id, method, request, wait }: Call): Promise<void> {
  try {
    const run = database[method].bind(database) as (request: unknown) => Promise<unknown>;
    const value = await run(request);
    if (wait) send({ id, value });
  } catch (error) {
    // Without a waiting caller the lane has reported it.
    if (wait) send({ id, error: plain(error) });
  }
}

function plain(error: unknown): NonNullable<Reply["error"]> {
  const { code, message, details } = toPagurusError(error);
  return { code, message, details };
}

port.on("message", (call: Call) => void answer(call));

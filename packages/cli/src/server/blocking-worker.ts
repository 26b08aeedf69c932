/** The thread of `BlockingCalls`: sends one request at a time and wakes the caller. */
import { workerData } from "node:worker_threads";
import { toPagurusError } from "@pagurus/contract/errors";
import { HttpRequests, type HttpCall } from "@pagurus/client/http-requests";
import type { BlockingReply, BlockingStart } from "./blocking-calls.ts";
import { tokenOption } from "./server-secret.ts";

const { connection, port, answered } = workerData as BlockingStart;
const { url, secret, retryMs } = connection;
const http = new HttpRequests({ url, token: tokenOption(secret), retryMs });

async function reply(call: HttpCall): Promise<BlockingReply> {
  try {
    return { value: await http.json(call) };
  } catch (error) {
    const { code, message } = toPagurusError(error);
    return { error: { code, message } };
  }
}

port.on("message", (call: HttpCall) => {
  void reply(call).then((message) => {
    port.postMessage(message);
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
});

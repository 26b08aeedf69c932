/** The thread of `JsonThread`. */
import { parentPort } from "node:worker_threads";
import type { ParseReply, ParseRequest } from "./json-thread.ts";

parentPort?.on("message", ({ id, bytes }: ParseRequest) => {
  let reply: ParseReply;
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
    reply = { id, value: JSON.parse(text) as unknown };
  } catch (error) {
    reply = { id, problem: error instanceof Error ? error.message.slice(0, 200) : "no JSON" };
  }
  parentPort?.postMessage(reply);
});

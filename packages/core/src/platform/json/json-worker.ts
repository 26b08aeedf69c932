/** The thread of `JsonThread`. */
import { parentPort } from "node:worker_threads";
import { parseWellFormed } from "../../data/well-formed.ts";
import type { ParseReply, ParseRequest } from "./json-thread.ts";

parentPort?.on("message", ({ id, bytes }: ParseRequest) => {
  let reply: ParseReply;
  try {
    const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    reply = { id, value: parseWellFormed(json) };
  } catch (error) {
    reply = { id, problem: error instanceof Error ? error.message.slice(0, 200) : "no JSON" };
  }
  parentPort?.postMessage(reply);
});

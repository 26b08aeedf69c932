/** The thread of `JsonThread`. */
import { parentPort } from "node:worker_threads";
import { mayHaveHalves, wellFormed } from "../../data/well-formed.ts";
import type { ParseReply, ParseRequest } from "./json-thread.ts";

parentPort?.on("message", ({ id, bytes }: ParseRequest) => {
  let reply: ParseReply;
  try {
    const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const value = JSON.parse(json.toString("utf8")) as unknown;
    reply = { id, value: mayHaveHalves(json) ? wellFormed(value) : value };
  } catch (error) {
    reply = { id, problem: error instanceof Error ? error.message.slice(0, 200) : "no JSON" };
  }
  parentPort?.postMessage(reply);
});

/** The thread that parses mails: each message is the bytes of one, each reply what it says. */
import { parentPort } from "node:worker_threads";
import type { ParseReply } from "./mail-parser-thread.ts";
import { readMail } from "./read-mail.ts";

parentPort?.on("message", (bytes: Uint8Array) => {
  void readMail(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).then((mail) =>
    parentPort?.postMessage({ mail } satisfies ParseReply),
  );
});

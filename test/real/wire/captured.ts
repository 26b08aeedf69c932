/** What a host's gateway captured: each request as the harness sent it and as it was forwarded to the model. */
import { join } from "node:path";
import {
  captureNumbers,
  readCapture,
  readPart,
  type CaptureSession,
} from "../../../packages/gateway/src/capture/read-capture.ts";
import type { CaptureRecord } from "../../../packages/gateway/src/capture/capture-record.ts";

export interface CapturedPair {
  facts: CaptureRecord;
  harness: Buffer;
  sent: Buffer;
}

/** Requests of the session `main`, in order, once all are written; `root` is the bench's folder. */
export async function captured(root: string, sessionKey = "main"): Promise<CapturedPair[]> {
  const session: CaptureSession = { home: join(root, "home"), agentId: "main", sessionKey };
  const open = (): number[] =>
    captureNumbers(session).filter((number) => !readCapture(session, number)?.outcome);
  for (let look = 0; open().length > 0; look++) {
    if (look === 200) throw new Error(`not written: ${open().join()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return captureNumbers(session).flatMap((number) => {
    const facts = readCapture(session, number);
    const harness = facts && readPart(session, facts, "harness");
    const sent = facts && readPart(session, facts, "sent");
    return facts && harness && sent ? [{ facts, harness: harness.bytes, sent: sent.bytes }] : [];
  });
}

/** What a host shares beside the transcripts: the store's side of the calls into the database's thread. */
import { hostname } from "node:os";
import type {
  BoundThread,
  SharedRecords,
  SharedSearch,
  SharedSpend,
} from "@pagurus/contract/session/shared-records";
import type { Bridge } from "./bridge.ts";
import type { MirrorState } from "./mirror-state.ts";
import type { ReceiptMirror } from "./receipt-mirror.ts";

export interface HostRecordsParts {
  bridge: Bridge;
  agent: string;
  mirrors: MirrorState;
  receipts: ReceiptMirror;
  search: SharedSearch;
}

export class HostRecords implements SharedRecords {
  readonly spend: SharedSpend;
  readonly search: SharedSearch;
  readonly #parts: HostRecordsParts;

  constructor(parts: HostRecordsParts) {
    this.#parts = parts;
    this.search = parts.search;
    const { bridge, agent } = parts;
    this.spend = {
      sums: (scope) => new Map(bridge.call("spendSums", { agent, scope })),
      report: (scope, sums) => bridge.post("reportSpend", { agent, scope, sums: [...sums] }),
    };
  }

  receipts(sessionId: string, offset: number, bytes: Uint8Array): void {
    this.#parts.receipts.written(sessionId, offset, bytes);
  }

  bind(sessionId: string, runtime: string, nativeId: string | undefined): void {
    const { bridge, agent, mirrors, receipts } = this.#parts;
    const place = { agent, sessionId, runtime, mirror: mirrors.id, host: hostname() };
    const epoch = receipts.epochOf(sessionId) ?? null;
    bridge.post("bind", { ...place, epoch, nativeId: nativeId ?? null });
  }

  boundThread(sessionId: string, runtime: string): BoundThread | undefined {
    const { bridge, agent, mirrors } = this.#parts;
    return bridge.call("bound", { agent, sessionId, runtime, mirror: mirrors.id }) ?? undefined;
  }
}

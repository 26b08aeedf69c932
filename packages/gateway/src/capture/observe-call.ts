/** Captures the model requests that the host sends itself, in the form of those that pass the gateway. */
import { WIRE_APIS, type WireApi } from "@pagurus/contract/harness/wire";
import type { ModelInfo } from "@pagurus/contract/model";
import type { CallObserver, CallOwner } from "@pagurus/core/model/provider-types";
import type { CapturedRequest, CaptureLog } from "./capture.ts";
import { defined } from "@pagurus/core/data/defined";

function isWireApi(api: string): api is WireApi {
  return (WIRE_APIS as readonly string[]).includes(api);
}

/** Undefined for a call without an owner, and for the offline model, which is sent nothing. */
export function observeCall(
  log: CaptureLog,
  { api, id: model }: Pick<ModelInfo, "api" | "id">,
  owner: CallOwner | undefined,
): CallObserver | undefined {
  if (!owner || !isWireApi(api)) return undefined;
  let open: CapturedRequest | undefined;
  let requests = 0;
  const end = (error?: string): void => {
    open?.end({ cut: false, left: false, answeredBy: "upstream", ...defined({ error }) });
    open = undefined;
  };
  return {
    sent: ({ url, headers, body }) => {
      end();
      const { host, pathname, search } = new URL(url);
      const bytes = Buffer.from(body);
      open = log.begin({
        ...owner,
        runtime: "embedded",
        route: "embedded",
        request: requests,
        kind: "main",
        api,
        model,
        method: "POST",
        path: `${pathname}${search}`,
        rawHeaders: Object.entries(headers).flat(),
        body: bytes,
      });
      requests += 1;
      open.sent(host, [bytes], { replaced: false });
    },
    answered: ({ status, rawHeaders }) => open?.answered({ status, rawHeaders: [...rawHeaders] }),
    // The connection may reuse the memory of a chunk.
    chunk: (bytes) => open?.chunk(Buffer.from(bytes)),
    ended: async (error) => {
      end(error);
      await log.settled();
    },
  };
}

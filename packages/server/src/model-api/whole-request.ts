/** A request of a client with all that it continues, for the model or the agent that answers it. */
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import type { Whose } from "./conversations.ts";

export interface WholeRequest extends Whose {
  call: WireCall;
  /** Id of the token that asks. */
  token: string;
  /** The body, without the fields that only the store of responses reads. */
  asked: Record<string, unknown>;
  /** Of a response that is made in the background: after a crash the same turn of the agent continues. */
  idempotencyKey?: string;
  /** Called with the key of its session. */
  placed?(sessionKey: string): void;
}

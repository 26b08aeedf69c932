/** Facts about a route, and what is reported about each of its requests. */
import type { Clock } from "@pagurus/core/data/clock";
import type { Logger } from "@pagurus/core/platform/log";
import type { CaptureLog } from "../capture/capture.ts";
import type { Dialect, WireHeaders, WireRequest } from "../dialect/wire-dialect.ts";
import { conversationOf } from "./order.ts";
import type { Governor } from "../governor/governor.ts";
import type { ThinkingBinds } from "../splice/bound-thinking.ts";

export interface RouteFacts {
  /** Short name of the route, for log and capture. */
  id: string;
  sessionKey: string;
  runtime: string;
}

/** Overflows that a harness saw, by conversation: its next request gets a smaller context. */
export class Overflows {
  readonly #noted = new Map<string, { message: string }>();

  note(request: WireRequest, { message }: { message: string }): void {
    this.#noted.set(conversationOf(request), { message });
  }

  take(request: WireRequest): { message: string } | undefined {
    const name = conversationOf(request);
    const noted = this.#noted.get(name);
    this.#noted.delete(name);
    return noted;
  }
}

/** Items and responses that a program names in place of sending them. */
export interface NamedAnswers {
  /** The body with what it names, as far as that is known; undefined if it stays as it is. Never throws. */
  resolved(body: Buffer): Buffer | undefined;
  /** Called with each answer that ended. `body`: of its request, as it was read. Never throws. */
  note(body: Buffer, responseId: string | undefined, output: readonly Record<string, unknown>[]): void;
}

export interface RouteOptions extends RouteFacts {
  overflows: Overflows;
  /** Messages that the thinking of this route's answers is bound to. */
  thinking: ThinkingBinds;
  dialect: Dialect;
  governor: Governor;
  logger: Logger;
  /** Default: the machine's. */
  clock?: Clock | undefined;
  capture?: CaptureLog | undefined;
  /** Refines what the dialect has read of a request, by what is known of the program. `path`: without the base. */
  classify?:
    | ((request: WireRequest, call: { path: string; headers: WireHeaders }) => WireRequest)
    | undefined;
  /** Answers that the program may name by id later; absent: requests stay as they are. */
  named?: NamedAnswers | undefined;
  /** Called when a request has ended. */
  onExchange?: ((facts: ExchangeFacts) => void) | undefined;
}

export interface ExchangeFacts {
  request: number;
  kind: WireRequest["kind"];
  answeredBy: "engine" | "upstream" | "gateway";
  isReplaced: boolean;
}

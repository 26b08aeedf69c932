/**
 * Runs the middlewares of plugins around a call of a host tool, the first registered outermost. A failure never runs a tool and
 * never loses the outcome of one that ran.
 */
import type { Clock } from "@pagurus/core/data/clock";
import { AsyncLocalStorage } from "node:async_hooks";
import { PagurusError } from "@pagurus/contract/errors";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import type { SurroundedCall } from "@pagurus/contract/host/tool-middleware";
import { isRecord } from "@pagurus/core/data/record-fields";
import { matchesWildcard } from "@pagurus/core/data/wildcard";
import type { RegisteredMiddleware } from "../../plugin/registry.ts";
import { failedOutcome } from "../../tool/host-tool.ts";
import { pluginFailure } from "../guard/plugin-failure.ts";
import { OwnTime } from "./own-time.ts";

/** Deadline of a middleware, without the time of the tool, ms. */
const DEADLINE_MS = 15_000;

export interface MiddlewareOptions {
  onFailure(reason: string): void;
  deadlineMs?: number | undefined;
  /** Default: the machine's. */
  clock?: Clock;
}

/** The middlewares that surround a tool, in order. */
export function middlewaresFor(
  all: readonly RegisteredMiddleware[],
  toolName: string,
): readonly RegisteredMiddleware[] {
  return all.filter(
    ({ tools }) => tools === undefined || tools.some((name) => matchesWildcard(name, toolName)),
  );
}

/** `run` is the tool and never throws. Never throws. */
export async function surrounded(
  [outer, ...inner]: readonly RegisteredMiddleware[],
  call: SurroundedCall,
  run: () => Promise<ToolOutcome>,
  options: MiddlewareOptions,
): Promise<ToolOutcome> {
  if (!outer) return await run();
  return await around(outer, call, () => surrounded(inner, call, run, options), options);
}

async function around(
  { pluginId, middleware }: RegisteredMiddleware,
  call: SurroundedCall,
  run: () => Promise<ToolOutcome>,
  { onFailure, deadlineMs = DEADLINE_MS, clock }: MiddlewareOptions,
): Promise<ToolOutcome> {
  const time = new OwnTime(deadlineMs, `The middleware of plugin ${pluginId}`, call.signal, clock);
  // Errors of the tool are not the plugin's.
  const outside = AsyncLocalStorage.snapshot();
  let ran: Promise<ToolOutcome> | undefined;
  let isOver = false;
  const next = (): Promise<ToolOutcome> => {
    if (isOver && !ran)
      return Promise.resolve(failedOutcome("The call has ended before its middleware ran the tool."));
    return (ran ??= time.without(() => outside(run)));
  };
  try {
    const answer: unknown = await time.within(() =>
      middleware({ ...call, params: structuredClone(call.params) }, next),
    );
    isOver = true;
    // The next call must not begin while the tool runs.
    const outcome = await ran;
    if (isOutcome(answer)) return answer;
    if (answer === undefined && outcome) return outcome;
    const what =
      answer === undefined ? "answered nothing and did not call next" : "answered no outcome of a tool";
    throw new PagurusError("engine_contract", `it ${what}`);
  } catch (error) {
    isOver = true;
    const reason = pluginFailure(error).message;
    if (!call.signal.aborted)
      onFailure(`middleware of plugin ${pluginId} around ${call.toolName}: ${reason}`);
    const outcome = await ran;
    if (outcome) return outcome;
    if (call.signal.aborted) return failedOutcome("Aborted before the tool was started.", { aborted: true });
    return failedOutcome(
      `Blocked: the middleware of plugin ${pluginId} failed before ${call.toolName} ran, and a call that it surrounds fails closed.`,
    );
  } finally {
    time.end();
  }
}

function isOutcome(value: unknown): value is ToolOutcome {
  if (!isRecord(value)) return false;
  const { content, isError } = value;
  return typeof isError === "boolean" && Array.isArray(content) && content.every(isPart);
}

function isPart(part: unknown): boolean {
  if (!isRecord(part)) return false;
  if (part["type"] === "text") return typeof part["text"] === "string";
  return part["type"] === "image" && typeof part["data"] === "string" && typeof part["mimeType"] === "string";
}

/** Runs turns of the host on Codex; a turn that Codex refuses on a bound thread is retried once on a new one. */
import { toPagurusError, PagurusError } from "@pagurus/contract/errors";
import type {
  AssembledContext,
  HarnessRun,
  HarnessTurn,
  TurnContext,
} from "@pagurus/contract/harness/harness";
import { RpcError } from "@pagurus/core/rpc/peer";
import { ThreadRun } from "../thread/thread-run.ts";
import type { AppServer } from "./app-server/app-server.ts";
import { promptTextOf } from "./codex-place.ts";
import { CodexTurn, setOf, type TurnSurroundings } from "./codex-turn.ts";

function refused(error: RpcError): PagurusError {
  return new PagurusError(
    "runtime_failed",
    `Codex refused the turn: ${error.message.replace(/\.?$/, ".")} The conversation is kept; send the request again.`,
    { cause: error, details: { rpcCode: error.code } },
  );
}

type Request = NonNullable<Parameters<TurnContext["assemble"]>[0]>;

export function codexRun(turn: HarnessTurn, around: TurnSurroundings): HarnessRun {
  const assemble = (request?: Request): Promise<AssembledContext> =>
    turn.context.assemble({ ...request, promptText: (context) => promptTextOf(turn, context, around) });
  let server: AppServer | undefined;
  return new ThreadRun<AssembledContext, CodexTurn>(turn, {
    prepare: async () => {
      const context = await assemble();
      server = await around.servers.running();
      return context;
    },
    open: (context, inputs, before) => {
      const begin = inputs
        ? { set: setOf(inputs), fragmentCount: before?.fragmentCount ?? 0 }
        : { set: turn.context.additionalContext, fragmentCount: 0 };
      return CodexTurn.begin(turn, context, begin, around);
    },
    failureOf: (error) =>
      error instanceof RpcError ? refused(error) : toPagurusError(error, "runtime_failed"),
    again: async ({ from, begun, error, failure }) => {
      const hasStarted = begun?.hasStarted === true;
      // Codex had ended between turns, unnoticed.
      if (server?.isAlive === false && !hasStarted) return from;
      const isOverflow = failure.code === "context_overflow" && begun?.isWired !== true;
      // Work that was done must not be repeated.
      if (!isOverflow && (hasStarted || !(error instanceof RpcError))) return undefined;
      // Without the replaced instructions of the thread the same context may fit: nothing of the user's is compacted for them.
      const overflow = begun?.hasStale === true ? {} : { overflow: { message: failure.message } };
      const context = isOverflow ? await assemble(overflow) : from;
      // Codex may accept a new thread after it refused a bound one (deleted, in use by another process).
      turn.thread.bind(undefined);
      return context;
    },
  });
}

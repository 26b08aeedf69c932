import { PagurusError } from "../contract/errors.ts";
import type { TurnEvent } from "../contract/events.ts";
import { messagesTokens } from "../tokens/messages.ts";
import { compactQueued, type CompactionOutcome } from "./compact.ts";
import { engineSessionFile } from "./engine-files.ts";
import { checkHostRequirements } from "./engine-slot.ts";
import { Guard } from "./guard.ts";
import { outsideTurn, surroundings } from "./inspect.ts";
import { completionReceipt } from "./receipt-sink.ts";
import type { OnCompletion } from "./runtime-context.ts";
import type { AgentHost } from "./scope.ts";
import { readContext } from "./context-slice.ts";

export interface ManualCompaction {
  sessionKey?: string;
  /** What the summary should keep in view. */
  focus?: string;
  cwd?: string;
  signal?: AbortSignal;
}

/** `/compact [focus]`: the active engine's `compact()`, between turns. Throws `session_not_found`, `session_locked`, `host_requirement`. */
export async function compactManually(
  host: AgentHost,
  request: ManualCompaction,
  emit: (event: TurnEvent) => void = () => undefined,
): Promise<CompactionOutcome> {
  const sessionKey = request.sessionKey ?? "main";
  const around = await surroundings(host, { cwd: request.cwd, sessionKey });
  checkHostRequirements(around.engine, around.harness, "compaction");
  if (!host.store.find(sessionKey)) {
    throw new PagurusError(
      "session_not_found",
      `There is no session "${sessionKey}" to compact; see pagurus sessions list.`,
    );
  }
  const writer = host.store.openWriter(sessionKey, { cwd: around.cwd, deadlineMs: 1_000 });
  try {
    const { sessionId } = writer.record;
    const { messages } = readContext(writer, around.model.contextWindow);
    const guard = new Guard({
      engineId: around.engine.info.id,
      turnId: "manual",
      logger: host.logger,
      report: (degradation) => emit({ type: "context.degraded", ...degradation }),
      deadlines: host.config.agents?.defaults?.engineDeadlines,
    });
    const receipts = host.receipts(writer.record);
    const turn = {
      turnId: `compaction-${host.newTurnId()}`,
      runtime: around.harness.id,
      engine: around.engine.info.id,
      tokenBudget: around.tokenBudget,
    };
    const onCompletion: OnCompletion = (asked, result) =>
      receipts.append(completionReceipt(receipts, asked, result, turn));
    return await compactQueued({
      host,
      writer,
      emit,
      guard,
      engine: around.engine,
      sessionFile: engineSessionFile(host.slot, writer.record.file, (reason) =>
        guard.degrade("transcript", reason),
      ),
      trigger: "manual",
      tokenBudget: around.tokenBudget,
      currentTokens: host.calibration(sessionId, around.model.ref).apply(messagesTokens(messages)),
      focus: request.focus,
      ...outsideTurn(host, around, { sessionId, transcript: writer.cursor, onCompletion }),
      signal: request.signal ?? new AbortController().signal,
    });
  } finally {
    writer.close();
  }
}

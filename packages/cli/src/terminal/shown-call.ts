/** A call of a tool as a block, from its arguments to its result. */
import { defined } from "@pagurus/core/data/defined";
import type { TurnEvent } from "@pagurus/contract/host/events";
import { changesOfCall, linesOfChanges } from "@pagurus/host/command/file-changes";
import { oneLine } from "@pagurus/host/command/layout";
import { callSummary, outcomeSummary, outcomeText } from "../run/activity-lines.ts";
import { ToolBlock } from "./blocks.ts";
import type { Theme } from "./theme.ts";

/** Characters of a line about a call or a result. */
export const LINE = 400;

type Outcome = Extract<TurnEvent, { type: "tool.completed" }>["outcome"];

export class ShownCall {
  readonly block: ToolBlock;
  readonly #name: string;
  readonly #args: Record<string, unknown>;

  constructor(name: string, args: Record<string, unknown>, theme: Theme) {
    this.#name = name;
    this.#args = args;
    this.block = new ToolBlock(oneLine(name, 60), callSummary(args, LINE), theme);
  }

  end(outcome: Outcome): void {
    const text = outcomeText(outcome);
    const changes = outcome.isError ? [] : changesOfCall(this.#name, this.#args, text);
    const diff = changes.length === 0 ? undefined : linesOfChanges(changes);
    const summary = oneLine(outcomeSummary(outcome, LINE), LINE);
    this.block.end({ summary, isError: outcome.isError, text, ...defined({ diff }) });
  }
}

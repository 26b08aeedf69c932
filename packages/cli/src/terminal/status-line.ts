/** One line below the input: model, thinking, permission mode, context, cost, branch. Parts that do not fit are left out from the end. */
import { truncateToWidth, visibleWidth, type Component } from "@earendil-works/pi-tui";
import type { CostSoFar } from "@pagurus/contract/host/cost";
import type { ContextGauge } from "@pagurus/contract/host/events";
import { gaugeBar, gaugeEnd } from "@pagurus/host/command/context-gauge";
import { oneLine } from "@pagurus/host/command/layout";
import { count, dollars } from "@pagurus/core/data/plain-numbers";
import type { Theme } from "./theme.ts";

export interface StatusFacts {
  model?: string;
  runtime?: string;
  thinking?: string | undefined;
  permission?: string;
  context?: ContextGauge;
  cost?: CostSoFar;
  branch?: string | undefined;
}

export class StatusLine implements Component {
  readonly #theme: Theme;
  #facts: StatusFacts = {};
  /** A word for the moment, in place of the facts: "Ctrl-C again leaves". */
  #hint: string | undefined;

  constructor(theme: Theme) {
    this.#theme = theme;
  }

  set(facts: StatusFacts): void {
    this.#facts = { ...this.#facts, ...facts };
  }

  hint(text: string | undefined): void {
    this.#hint = text;
  }

  invalidate(): void {
    // Nothing is kept.
  }

  render(width: number): readonly string[] {
    const { dim } = this.#theme;
    if (this.#hint !== undefined) return [dim(truncateToWidth(this.#hint, width, "…"))];
    let line = "";
    for (const part of parts(this.#facts)) {
      const longer = line === "" ? part : `${line} · ${part}`;
      if (visibleWidth(longer) > width) break;
      line = longer;
    }
    return [dim(line)];
  }
}

function parts({ model, runtime, thinking, permission, context, cost, branch }: StatusFacts): string[] {
  const shown = [model === undefined ? "" : oneLine(model, 60)];
  if (runtime !== undefined && runtime !== "embedded") shown.push(oneLine(runtime, 30));
  if (permission !== undefined) shown.push(permission);
  if (context) {
    const end = gaugeEnd(context);
    shown.push(end > 0 ? `${gaugeBar(context, 8)} of ${count(end)}` : `${count(context.tokens)} tokens`);
  }
  if (thinking !== undefined) shown.push(`thinking ${thinking}`);
  const spent = cost?.session ?? cost?.turn;
  if (spent !== undefined) shown.push(dollars(spent));
  if (branch !== undefined) shown.push(`⎇ ${oneLine(branch, 40)}`);
  return shown.filter((part) => part !== "");
}

import type { TurnEvent } from "@pagurus/contract/host/events";
import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine } from "@pagurus/host/command/layout";

type Completed = Extract<TurnEvent, { type: "tool.completed" }>;

/** Maximum number of kept outputs, and their total characters. */
const MOST_OUTPUTS = 100;
const MOST_CHARACTERS = 4_000_000;

/** Tool outputs of a chat, kept to open those of which only the size was shown. */
export class ToolOutputs {
  readonly #kept = new Map<number, { title: string; text: string }>();
  #last = 0;
  /** The last opened output, since the newest arrived. */
  #opened: number | undefined;

  /** Keeps an output and returns its number. */
  add({ toolName, outcome }: Completed): number {
    const text = outcome.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
    const lines = text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
    const size = `${plural(lines, "line")}, ${bytes(Buffer.byteLength(text))}`;
    this.#last += 1;
    this.#opened = undefined;
    this.#kept.set(this.#last, { title: `${oneLine(toolName, 60)}: ${size}`, text });
    let characters = [...this.#kept.values()].reduce((sum, each) => sum + each.text.length, 0);
    for (const [number, old] of this.#kept) {
      if (number === this.#last || (this.#kept.size <= MOST_OUTPUTS && characters <= MOST_CHARACTERS)) break;
      this.#kept.delete(number);
      characters -= old.text.length;
    }
    return this.#last;
  }

  /** One full output; without a number the newest, and at each further call the previous one. */
  open(number?: number): string {
    const wanted = number ?? Math.max(1, (this.#opened ?? this.#last + 1) - 1);
    const found = this.#kept.get(wanted);
    if (!found) {
      if (this.#last === 0) return "No tool has answered in this chat yet.";
      return `There is no output ${wanted}; those of the last calls are kept, up to ${this.#last}.`;
    }
    if (number === undefined) this.#opened = wanted;
    return `── output ${wanted} of ${found.title}\n${found.text.replace(/\n$/, "")}\n──`;
  }
}

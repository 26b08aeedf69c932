/** Answers that grow: what is written so far, and when it may be shown. */
import type { Clock } from "@pagurus/core/data/clock";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import type { Place } from "./channel-store.ts";
import { withoutMedia } from "./handed-files.ts";
import { splitText } from "./turn-answer.ts";

/** An answer that is complete so soon after its first word is sent once, ms. */
const FIRST_MS = 1_500;
/** Least time between two states of one answer, ms. */
const NEXT_MS = 2_000;
const GROWS = " …";
/** A last line that names a file, or begins like one. */
const MAY_BE_A_FILE = /(?<![^\n])(?:M|ME|MED|MEDI|MEDIA|MEDIA:[^\n]*)$/;

export interface Draft {
  workId: string;
  place: Place;
  text: string;
}

interface Growing {
  place: Place;
  /** Texts of the messages that are complete. */
  done: string[];
  current: string;
  shown: string;
  /** When the next state may be shown, ms since the epoch; undefined before the first word. */
  dueAt: number | undefined;
}

function assistantText(message: AgentMessage): string {
  if (message.role !== "assistant") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The first message of the answer as it is so far. A line that may become a file's name is held back. */
function textOf({ done, current }: Growing, maxChars: number): string {
  const written = [...done, current.replace(MAY_BE_A_FILE, "")].map((text) => text.trim());
  const { text } = withoutMedia(written.filter((part) => part !== "").join("\n\n"));
  return splitText(text, maxChars - GROWS.length)[0] ?? "";
}

export class Drafts {
  readonly #growing = new Map<string, Growing>();
  readonly #due: () => void;
  readonly #clock: Clock;
  #isPlanned = false;

  /** `due`: called when a state may be shown. */
  constructor(due: () => void, clock: Clock) {
    this.#due = due;
    this.#clock = clock;
  }

  begin(workId: string, place: Place): void {
    this.#growing.set(workId, { place, done: [], current: "", shown: "", dueAt: undefined });
  }

  has(workId: string): boolean {
    return this.#growing.has(workId);
  }

  end(workId: string): void {
    this.#growing.delete(workId);
  }

  /** An event of the work's turn. */
  event(workId: string, type: string, data: object): void {
    const growing = this.#growing.get(workId);
    if (!growing) return;
    const event = { type, ...data } as TurnEvent;
    if (event.type === "text.delta") growing.current += event.delta;
    // What the failed attempt wrote is written again.
    else if (event.type === "model.retry" || event.type === "model.fallback") growing.current = "";
    else if (event.type === "message" && event.message.role === "assistant") {
      growing.done.push(assistantText(event.message));
      growing.current = "";
    } else return;
    growing.dueAt ??= this.#clock.now() + FIRST_MS;
    this.#plan();
  }

  #plan(): void {
    const times = [...this.#growing.values()].flatMap(({ dueAt }) => dueAt ?? []);
    if (this.#isPlanned || times.length === 0) return;
    const wait = Math.max(0, Math.min(...times) - this.#clock.now());
    const due = (): void => {
      this.#isPlanned = false;
      this.#due();
    };
    this.#isPlanned = true;
    this.#clock.after(wait, due, { ref: false });
  }

  /** A changed state that may be shown now, of at most `maxChars`; undefined where none is due. */
  take(maxChars: number): Draft | undefined {
    const now = this.#clock.now();
    for (const [workId, growing] of this.#growing) {
      if (growing.dueAt === undefined || growing.dueAt > now) continue;
      // The next word makes it due again.
      growing.dueAt = undefined;
      const text = textOf(growing, maxChars);
      if (text === "" || text === growing.shown) continue;
      growing.shown = text;
      growing.dueAt = now + NEXT_MS;
      this.#plan();
      return { workId, place: growing.place, text: `${text}${GROWS}` };
    }
    this.#plan();
    return undefined;
  }
}

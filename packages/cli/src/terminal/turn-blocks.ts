/** Shows the events of a turn as blocks of the transcript, and its work as a line above the input. */
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import { oneLine, terminalSafe } from "@pagurus/host/command/layout";
import { messageText } from "@pagurus/host/command/rewind";
import type { TurnView } from "../chat/chat-view.ts";
import type { Style } from "../cli.ts";
import { activityLine, PLAN_TOOL } from "../run/activity-lines.ts";
import { Answer, NoteBlock, ThinkingBlock } from "./blocks.ts";
import { LINE, ShownCall } from "./shown-call.ts";
import type { Theme } from "./theme.ts";
import type { Block } from "./transcript.ts";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

export interface TurnStage {
  theme: Theme;
  style: Style;
  /** Puts a block at the end of the transcript. */
  add(block: Block): void;
  /** Draws the next frame. */
  draw(): void;
  /** The work in progress, for example `Working` or `shell`; undefined: none. */
  working(words: string | undefined): void;
  /** Whether successful compactions are shown. */
  notifyCompactions: boolean;
}

const COMPACTIONS: ReadonlySet<TurnEvent["type"]> = new Set(["compaction.started", "compaction.completed"]);

export class TurnBlocks implements TurnView {
  readonly #stage: TurnStage;
  readonly #tools = new Map<string, ShownCall>();
  #answer: Answer | undefined;
  #thinking: ThinkingBlock | undefined;
  #streamed = false;
  #answered = false;

  constructor(stage: TurnStage) {
    this.#stage = stage;
    stage.working("Working");
  }

  show(event: TurnEvent): void {
    this.#take(event);
    this.#stage.draw();
  }

  #take(event: TurnEvent): void {
    switch (event.type) {
      case "text.delta":
        return this.#text(event.delta);
      case "thinking.delta":
        return this.#think(event.delta);
      case "message":
        return this.#message(event.message);
      case "tool.started":
        return this.#call(event);
      case "tool.output":
        return this.#tools.get(event.toolCallId)?.block.push(event.chunk);
      case "tool.completed":
        return this.#result(event);
      case "steered":
        return this.#endMessage();
      case "model.retry":
      case "model.fallback":
        this.#startAgain();
        return this.#note(event);
      case "turn.completed":
        this.#endMessage();
        this.#note(event);
        if (event.stopReason !== "aborted" && !this.#answered)
          this.#line(this.#stage.theme.warning("the model's answer was empty"));
        return undefined;
      default:
        return this.#note(event);
    }
  }

  #text(delta: string): void {
    if (delta === "") return;
    this.#endThinking();
    this.#streamed = true;
    this.#answered = true;
    this.#answer ??= new Answer((block) => this.#stage.add(block), this.#stage.theme);
    this.#answer.push(terminalSafe(delta));
  }

  #think(delta: string): void {
    if (!this.#thinking) {
      this.#thinking = new ThinkingBlock(this.#stage.theme);
      this.#stage.add(this.#thinking);
    }
    this.#thinking.push(delta);
  }

  #endThinking(): void {
    this.#thinking?.end();
    this.#thinking = undefined;
  }

  #endMessage(): void {
    this.#endThinking();
    this.#answer?.end();
    this.#answer = undefined;
    this.#streamed = false;
  }

  #message(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    const text = messageText(message);
    if (!this.#streamed && text !== "") this.#text(text);
    this.#endMessage();
  }

  #call({ toolCallId, toolName, arguments: args }: Of<"tool.started">): void {
    this.#endMessage();
    if (toolName === PLAN_TOOL) return;
    const call = new ShownCall(toolName, args, this.#stage.theme);
    this.#tools.set(toolCallId, call);
    this.#stage.add(call.block);
    this.#stage.working(oneLine(toolName, 60));
  }

  #result(event: Of<"tool.completed">): void {
    const { toolCallId, toolName, outcome } = event;
    this.#stage.working("Working");
    if (toolName === PLAN_TOOL) {
      if (outcome.isError) this.#note(event);
      return;
    }
    const known = this.#tools.get(toolCallId);
    this.#tools.delete(toolCallId);
    const call = known ?? new ShownCall(toolName, {}, this.#stage.theme);
    if (!known) this.#stage.add(call.block);
    call.end(outcome);
  }

  #startAgain(): void {
    const cut = this.#streamed;
    this.#endMessage();
    if (cut) this.#line(this.#stage.theme.warning("(answer cut off; starting again)"));
  }

  #note(event: TurnEvent): void {
    if (event.type === "compaction.started") this.#stage.working("Compacting");
    if (event.type === "compaction.completed" || event.type === "compaction.failed")
      this.#stage.working("Working");
    if (!this.#stage.notifyCompactions && COMPACTIONS.has(event.type)) return;
    const line = activityLine(event, this.#stage.style, LINE);
    if (line !== undefined) this.#line(line);
  }

  #line(line: string): void {
    this.#stage.add(new NoteBlock(line));
  }

  endLine(): void {
    this.#endMessage();
  }

  close(): void {
    this.#endMessage();
    for (const { block } of this.#tools.values()) block.end({ summary: "stopped", isError: true, text: "" });
    this.#tools.clear();
    this.#stage.working(undefined);
    this.#stage.draw();
  }
}

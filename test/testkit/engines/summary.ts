/** Summaries of the test engines: the model's where it answers well, else an outline made from the inputs. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { orAborted } from "../../../packages/core/src/platform/deadline.ts";

const LINE_CHARS = 120;
const OUTLINE_CHARS = 2_000;
const MODEL_CHARS = 8_000;

export interface SummaryRequest {
  messages: readonly AgentMessage[];
  previous?: string | undefined;
  focus?: string | undefined;
  signal?: AbortSignal | undefined;
  llm?: LlmComplete | undefined;
}

export interface Summary {
  text: string;
  origin: "model" | "extractive";
}

export function wordsOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content
    .map((part) => (part.type === "text" ? part.text : part.type === "toolCall" ? `calls ${part.name}` : ""))
    .join(" ");
}

/** The beginning of each input, the newest last; the oldest are left out where they are too many. */
export function outline({ messages, previous, focus }: SummaryRequest): string {
  const earlier = previous?.split("\n").filter((line) => line.startsWith("- ")) ?? [];
  const inputs = messages
    .filter(({ role }) => role === "user")
    .map((message) => `- ${wordsOf(message).slice(0, LINE_CHARS)}`);
  const lines = [...earlier, ...inputs];
  while (lines.length > 1 && lines.join("\n").length > OUTLINE_CHARS) lines.shift();
  const head = focus === undefined ? "Asked so far:" : `Asked so far (with regard to ${focus}):`;
  return [head, ...lines].join("\n");
}

function prompt({ messages, previous, focus }: SummaryRequest): string {
  const parts = messages.map((message) => `${message.role}: ${wordsOf(message)}`.slice(0, MODEL_CHARS));
  return [
    "Summarize the conversation below.",
    ...(focus === undefined ? [] : [`Dwell on ${focus}.`]),
    ...(previous === undefined ? [] : [`Summary of what came before:\n${previous}`]),
    ...parts,
  ].join("\n\n");
}

/** Throws `turn_aborted` when the signal fires; a model that fails or says too much costs an outline, nothing else. */
export async function writeSummary(request: SummaryRequest): Promise<Summary> {
  const { llm, signal = new AbortController().signal } = request;
  const extractive: Summary = { text: outline(request), origin: "extractive" };
  if (!llm) return await orAborted(Promise.resolve(extractive), signal);
  const most = request.messages.reduce((sum, message) => sum + wordsOf(message).length, 0) / 2;
  const asked = {
    messages: [{ role: "user" as const, content: prompt(request) }],
    purpose: "compaction",
    signal,
  };
  try {
    const text = (await orAborted(llm(asked), signal)).text.trim();
    return text === "" || text.length > most ? extractive : { text, origin: "model" };
  } catch (error) {
    if (signal.aborted) throw error;
    return extractive;
  }
}

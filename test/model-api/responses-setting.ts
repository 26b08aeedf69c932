/** Reads what the Responses API sends, and what reached the model. */
import type { ModelServer } from "../servers/server.ts";
import { readBody } from "../turn/wire-bodies.ts";

export interface SentEvent {
  type: string;
  sequence_number: number;
  response?: Record<string, unknown>;
}

export function eventsOf(text: string): SentEvent[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as SentEvent);
}

/** The response of the stream's last event. */
export function lastResponse(text: string): Record<string, unknown> {
  const response = eventsOf(text).at(-1)?.response;
  if (!response) throw new Error(`The stream has no last response: ${text}`);
  return response;
}

export function outputText(response: Record<string, unknown>): string {
  const output = response["output"] as { content?: { text?: string }[] }[];
  return output
    .flatMap(({ content }) => content ?? [])
    .map(({ text }) => text ?? "")
    .join("");
}

/** Texts of the messages of a request that reached the model. */
export function sentWords(model: ModelServer, index: number): string[] {
  const request = model.requests[index];
  if (!request) throw new Error(`The model got no request ${index}.`);
  return readBody("openai-responses", request).messages.map(({ text }) => text);
}

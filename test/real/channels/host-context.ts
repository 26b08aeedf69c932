/** What a model was asked last, and a person's words in it. */
import type { RecordedRequest } from "../../servers/server.ts";

/** The content of the last message of a request in the form of Chat Completions. */
export function lastWords({ body }: RecordedRequest): string {
  const last = (body["messages"] as { content: unknown }[]).at(-1);
  return typeof last?.content === "string" ? last.content : JSON.stringify(last?.content);
}

/** A person's words as a model gets them, without the host's note that files can be sent. */
export function withoutContext(text: string): string {
  return text.replace(/^<channel>[^]*?<\/channel>\n\n/, "");
}

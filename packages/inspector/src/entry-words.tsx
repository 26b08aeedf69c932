/** The words of one transcript entry. */
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { bytes, visible } from "./plain-text.ts";
import { server } from "./server-calls.ts";

type Entry = Awaited<ReturnType<typeof server.inspect.entry>>;

interface Place {
  agent: string;
  sessionKey: string;
  entryId: string;
  /** Id of the session that has it; default: the current one under the key. */
  generation?: string | undefined;
}

export function EntryWords({ agent, sessionKey, entryId, generation }: Place) {
  const { value, error } = useLoaded(
    (signal) => server.inspect.entry(sessionKey, entryId, { agent, session: generation, signal }),
    [agent, sessionKey, entryId, generation],
  );
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Loading the words …" />;
  return (
    <>
      <h2>{titleOf(value)}</h2>
      <p class="facts">
        {entryId} · {bytes(value.bytes)}
      </p>
      <pre class="words" tabIndex={0} aria-label="Words">
        {visible(textOf(value))}
      </pre>
    </>
  );
}

function titleOf({ entry }: Entry): string {
  if (!entry) return "A long entry, its beginning";
  return entry.type === "message" ? entry.message.role : entry.type;
}

function textOf({ entry, cut }: Entry): string {
  if (!entry) return cut ?? "";
  if (entry.type === "compaction") return entry.summary;
  if (entry.type === "custom_message") return entry.content;
  if (entry.type !== "message") return JSON.stringify(entry, undefined, 2);
  const { content } = entry.message;
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "thinking") return part.thinking;
      if (part.type === "toolCall") return `${part.name}(${JSON.stringify(part.arguments, undefined, 2)})`;
      return `[image ${part.mimeType}]`;
    })
    .join("\n\n");
}

/**
 * A context engine without its own store: the host's transcript is the history, and a compaction replaces all but the
 * newest turns by a summary.
 */

/** Entries of the path since the last compaction, oldest first, with that compaction. */
async function pathOf(transcript) {
  const entries = [];
  let previous;
  for await (const entry of transcript.backward()) {
    if (entry.type === "compaction") previous ??= entry;
    if (entry.type === "message") entries.unshift(entry);
    if (previous !== undefined && entry.id === previous.firstKeptEntryId) break;
  }
  return { entries, previous };
}

/** Start of the newest turns; 0 when there is nothing before them. */
function cutAt(entries, keepTurns) {
  const starts = entries.flatMap(({ message }, index) => (message.role === "user" ? [index] : []));
  return starts.at(-keepTurns) ?? 0;
}

/** Fallback without a model: the beginning of every message of the user. */
function extract(entries) {
  const asked = entries.filter(({ message }) => message.role === "user");
  return asked.map(({ message }) => `- ${JSON.stringify(message.content).slice(0, 120)}`).join("\n");
}

async function summarize({ entries, previous, llm, focus, signal, tokens }) {
  const limit = tokens(entries.map(({ message }) => message));
  const said = entries.map(
    ({ message }) => `${message.role}: ${JSON.stringify(message.content).slice(0, 2_000)}`,
  );
  const before = previous === undefined ? [] : [`Summary so far: ${previous.summary}`];
  try {
    const { text } = await llm.complete({
      systemPrompt: `Summarize this conversation for an agent that continues it. ${focus ?? ""}`,
      messages: [{ role: "user", content: [...before, ...said].join("\n") }],
      maxTokens: 2_000,
      signal,
    });
    if (text.trim() !== "" && tokens(text) < limit) return { summary: text, origin: "model" };
  } catch (error) {
    if (signal?.aborted) throw error;
  }
  return { summary: [...before, extract(entries)].join("\n"), origin: "extractive" };
}

export default function register(api) {
  const keepTurns = api.pluginConfig?.keepTurns ?? 1;

  api.registerContextEngine("newest-turns", () => ({
    info: { id: "newest-turns", name: "Newest turns", version: "1.0.0", contract: "pagurus.engine/1" },

    async ingest() {
      return { ingested: false };
    },

    async assemble({ messages, runtimeContext }) {
      return { messages, estimatedTokens: runtimeContext?.tokens(messages) ?? 0 };
    },

    async compact({ runtimeContext, customInstructions: focus, abortSignal: signal }) {
      signal?.throwIfAborted();
      const { transcript, tokens, llm } = runtimeContext;
      const { entries, previous } = await pathOf(transcript);
      const cut = cutAt(entries, keepTurns);
      if (cut === 0)
        return { ok: true, compacted: false, reason: "there is nothing before the newest turns" };
      const count = (part) => tokens(part.map(({ message }) => message));
      const older = entries.slice(0, cut);
      const { summary, origin } = await summarize({ entries: older, previous, llm, focus, signal, tokens });
      signal?.throwIfAborted();
      const [tokensBefore, tokensAfter] = [count(entries), tokens(summary) + count(entries.slice(cut))];
      if (tokensAfter >= tokensBefore) return { ok: true, compacted: false, reason: "it would gain nothing" };
      const firstKeptEntryId = entries[cut].id;
      return {
        ok: true,
        compacted: true,
        result: { summary, origin, firstKeptEntryId, tokensBefore, tokensAfter },
      };
    },
  }));
}

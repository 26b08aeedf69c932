// A context engine with an append-only log of what it took, each line on the disk before it answers; it holds where a
// file tells it to. Config: {folder, settle, compact, rewrites, owns}.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Messages that one rewrite replaces. */
const MANY = 12;
const EXACTLY_ONCE = {
  currentTurnFence: "before-current-turn-entry-v1",
  turnAdvancementIdempotency: "atomic-idempotent-v1",
};

export default function register(api) {
  const { folder, settle = "commitTurn", compact = "summary", rewrites = 0, owns = false } = api.pluginConfig;
  const log = join(folder, "engine.log");

  const note = (line) => {
    const file = openSync(log, "a");
    writeSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
    closeSync(file);
  };
  /** A torn last line was never on the disk as a whole. */
  const lines = () => {
    if (!existsSync(log)) return [];
    return readFileSync(log, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  };
  /** Says that it has come to a point, and stays there for as long as `hold-<point>` is there. */
  const at = async (point) => {
    writeFileSync(join(folder, `at-${point}`), "");
    while (existsSync(join(folder, `hold-${point}`))) await pause(2);
    rmSync(join(folder, `at-${point}`), { force: true });
  };
  const textOf = ({ content }) =>
    typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");

  const engine = {
    info: {
      id: "durable",
      name: "Durable engine",
      ownsCompaction: owns,
      ...(settle === "commitTurn" ? { transcriptSemantics: EXACTLY_ONCE } : {}),
    },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
    compact: (params) => (compact === "rotate" ? rotated(params) : summarized(params)),
    maintain: (params) => rewritten(params),
    prepareSubagentSpawn: async ({ childSessionKey }) => {
      note({ prepared: childSessionKey });
      await at("prepare");
      return { rollback: async () => note({ rolledBack: childSessionKey }) };
    },
    onSubagentEnded: async ({ childSessionKey, reason }) => {
      await at("tell");
      note({ ended: childSessionKey, reason });
    },
  };
  if (settle === "commitTurn")
    engine.commitTurn = async ({ advancementKey, messages, sessionKey }) => {
      if (lines().some(({ took }) => took === advancementKey)) {
        note({ duplicate: advancementKey });
        return { status: "duplicate" };
      }
      await at("commit");
      note({ took: advancementKey, sessionKey, texts: messages.map(textOf) });
      await at("committed");
      return { status: "committed" };
    };
  if (settle === "afterTurn")
    engine.afterTurn = async ({ messages, prePromptMessageCount }) => {
      await at("commit");
      note({ after: messages.slice(prePromptMessageCount).map(textOf) });
      await at("committed");
    };

  async function pathOf({ runtimeContext }) {
    const entries = [];
    for await (const entry of runtimeContext.transcript.forward()) entries.push(entry);
    return entries;
  }

  /** One summary of all but the newest two inputs, written by the model. */
  async function summarized(params) {
    const inputs = (await pathOf(params)).filter(
      ({ type, message }) => type === "message" && message.role === "user",
    );
    const kept = inputs.at(-2);
    if (!kept || kept === inputs[0]) return { ok: true, compacted: false, reason: "nothing is older" };
    const { text } = await params.runtimeContext.llm.complete({
      systemPrompt: "SUMMARIZE",
      messages: [
        { role: "user", content: inputs.map(({ message }) => textOf(message).slice(0, 40)).join("\n") },
      ],
    });
    return {
      ok: true,
      compacted: true,
      result: { summary: text, firstKeptEntryId: kept.id, tokensBefore: params.currentTokenCount ?? 0 },
    };
  }

  /** A successor that has the same entries, those before the live turn with their texts cut short. */
  async function rotated({ sessionFile }) {
    const [header, ...rows] = readFileSync(sessionFile, "utf8").split("\n").slice(0, -1);
    const entries = rows.map((row) => JSON.parse(row));
    const live = entries.findLastIndex(({ type, message }) => type === "message" && message.role === "user");
    const short = entries.map((entry, index) => {
      if (index >= live || entry.type !== "message" || typeof entry.message.content === "string")
        return rows[index];
      const content = entry.message.content.map((part) =>
        part.type === "text" ? { ...part, text: part.text.slice(0, 60) } : part,
      );
      return JSON.stringify({ ...entry, message: { ...entry.message, content } });
    });
    const sessionId = `turned-${lines().length}-${Date.now()}`;
    const file = join(folder, `${sessionId}.jsonl`);
    writeFileSync(
      file,
      `${[JSON.stringify({ ...JSON.parse(header), id: sessionId }), ...short].join("\n")}\n`,
    );
    await at("rotate");
    return {
      ok: true,
      compacted: true,
      sessionId,
      sessionFile: file,
      result: { tokensBefore: 1, tokensAfter: 1 },
    };
  }

  /** The newest texts of the model, each written anew, several times over. */
  async function rewritten(params) {
    const none = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    if (rewrites === 0) return none;
    await at("maintain");
    let rewrittenEntries = 0;
    for (let round = 0; round < rewrites; round++) {
      const said = (await pathOf(params)).filter(
        ({ type, message }) => type === "message" && message.role === "assistant",
      );
      const replacements = said.slice(-MANY).map(({ id, message }) => ({
        entryId: id,
        message: {
          ...message,
          content: message.content.map((part) =>
            part.type === "text" ? { ...part, text: part.text.replace(/(~\d+)?$/, `~${round}`) } : part,
          ),
        },
      }));
      const result = await params.runtimeContext.rewriteTranscriptEntries(replacements);
      rewrittenEntries += result.rewrittenEntries;
    }
    return { changed: rewrittenEntries > 0, bytesFreed: 0, rewrittenEntries };
  }

  api.registerContextEngine("durable", () => engine);
}

/** Checks of a compaction that moves the session to a successor: a new id with its own transcript file. */
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import type { AgentMessage } from "@pagurus/contract/message";
import { readFileSync } from "node:fs";
import { must, onlyIf, shown } from "../../conformance-check.ts";
import type { CheckContext, EngineCheck } from "../engine-check.ts";
import { readClassicTranscript } from "../classic-file.ts";
import { turn, turns } from "../scripted-conversation.ts";
import { mustBeValid, mustHold } from "../engine-judge.ts";
import { successorOf, type EngineStage } from "../engine-stage.ts";

const BUDGET = 8_000;
const PROMPT = "Where were we?";

interface Rotated {
  made: EngineStage;
  answered: CompactResult;
  successor: { sessionId: string; file: string | undefined };
}

async function rotated({ stage }: CheckContext): Promise<Rotated> {
  const made = await stage({ tokenBudget: BUDGET });
  await made.know(turns(60));
  const answered = await made.compact();
  const successor = successorOf(answered, made.sessionId);
  onlyIf(successor, "The engine's compactions stay in the session.");
  return { made, answered, successor };
}

function fileOf({ successor }: Rotated): string {
  must(successor.file !== undefined, "The successor has an id and no sessionFile.");
  return successor.file;
}

export const rotationChecks: readonly EngineCheck[] = [
  {
    id: "rotation.file",
    title: "A successor has a transcript file of its own, whose header names its id.",
    async run(context) {
      const made = await rotated(context);
      const file = fileOf(made);
      must(file !== made.made.transcript.file, "The successor's file is that of the previous session.");
      const { header } = readClassicTranscript(file);
      must(
        header["id"] === made.successor.sessionId,
        `The header names the session ${shown(header["id"])}, the result ${shown(made.successor.sessionId)}.`,
      );
    },
  },
  {
    id: "rotation.tree",
    title: "The entries of a successor's file have their own ids and form a chain.",
    async run(context) {
      const { entries } = readClassicTranscript(fileOf(await rotated(context)));
      const seen = new Set<string>();
      for (const [index, entry] of entries.entries()) {
        must(
          typeof entry.id === "string" && !seen.has(entry.id),
          `Entry ${index} has the id ${shown(entry.id)}.`,
        );
        must(
          entry.parentId === null ? index === 0 : seen.has(entry.parentId),
          `Entry ${index} has the parent ${shown(entry.parentId)}, which is not before it.`,
        );
        seen.add(entry.id);
      }
    },
  },
  {
    id: "rotation.kept",
    title: "A successor's file holds the unchanged newest turn, and a summary with the entry it reaches to.",
    async run(context) {
      const made = await rotated(context);
      const newest = made.made.newestTurn();
      const { entries } = readClassicTranscript(fileOf(made));
      const messages = entries.flatMap((entry): AgentMessage[] =>
        entry.type === "message" ? [entry.message] : [],
      );
      mustBeValid(messages);
      mustHold(newest, messages, "In the successor's file");
      const compaction = entries.find((entry) => entry.type === "compaction");
      if (compaction?.type !== "compaction") return;
      must(compaction.summary.trim() !== "", "The successor's summary is empty.");
      must(
        entries.some((entry) => entry.id === compaction.firstKeptEntryId),
        `The successor's summary reaches to ${shown(compaction.firstKeptEntryId)}, which its file does not hold.`,
      );
    },
  },
  {
    id: "rotation.before",
    title: "The file of the previous session keeps its bytes.",
    async run({ stage }) {
      const made = await stage({ tokenBudget: BUDGET });
      await made.know(turns(60));
      const before = readFileSync(made.transcript.file, "utf8");
      const answered = await made.compact();
      onlyIf(successorOf(answered, made.sessionId), "The engine's compactions stay in the session.");
      must(readFileSync(made.transcript.file, "utf8") === before, "The file has other bytes than before.");
    },
  },
  {
    id: "rotation.goes-on",
    title:
      "The conversation continues in the successor: its context is valid, holds the newest turn, and takes more.",
    async run(context) {
      const { made, answered, successor } = await rotated(context);
      const newest = made.newestTurn();
      made.apply(answered);
      must(made.sessionId === successor.sessionId, "The successor cannot be moved to.");
      if (made.engine.bootstrap) await made.bootstrap();
      await made.take(turn(90));
      const { messages } = await made.assemble({ prompt: PROMPT });
      mustBeValid(messages);
      mustHold([...newest, ...turn(90)], messages, "In the successor");
    },
  },
];

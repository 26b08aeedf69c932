/** Checks of child sessions: before one exists, when it cannot be created, and when it has ended. */
import type { SubagentEndedParams, SubagentSpawnParams } from "@pagurus/contract/engine/engine-params";
import { isRecord } from "@pagurus/core/data/record-fields";
import { member, must, onlyIf, shown } from "../../conformance-check.ts";
import type { EngineCheck } from "../engine-check.ts";
import { keyOf, turns } from "../scripted-conversation.ts";
import type { EngineStage } from "../engine-stage.ts";

const REASONS: readonly SubagentEndedParams["reason"][] = ["completed", "deleted", "released", "swept"];

function childKey(made: EngineStage): string {
  return `${made.sessionKey}:child-1`;
}

function spawn(made: EngineStage, contextMode: "isolated" | "fork"): SubagentSpawnParams {
  const childId = `${made.sessionId}-child`;
  return {
    parentSessionKey: made.sessionKey,
    childSessionKey: childKey(made),
    contextMode,
    parentSessionId: made.sessionId,
    childSessionId: childId,
    parentSessionFile: made.transcript.file,
    childSessionFile: made.transcript.file.replace(made.sessionId, childId),
    ttlMs: 60_000,
  };
}

async function context(made: EngineStage): Promise<string> {
  return JSON.stringify((await made.assemble()).messages.map(keyOf));
}

export const subagentChecks: readonly EngineCheck[] = [
  {
    id: "subagent.prepare",
    title: "prepareSubagentSpawn() answers nothing or a rollback, for an isolated child and for a fork.",
    needs: "prepareSubagentSpawn",
    async run({ stage }) {
      for (const mode of ["isolated", "fork"] as const) {
        const made = await stage();
        await made.know(turns(3));
        const answered: unknown = await member(made.engine, "prepareSubagentSpawn")(spawn(made, mode));
        const fine =
          answered === undefined || (isRecord(answered) && typeof answered["rollback"] === "function");
        must(fine, `prepareSubagentSpawn() answered ${shown(answered)}, without a rollback.`);
      }
    },
  },
  {
    id: "subagent.bare",
    title: "prepareSubagentSpawn() takes a child with only its keys.",
    needs: "prepareSubagentSpawn",
    async run({ stage }) {
      const made = await stage();
      const { parentSessionKey, childSessionKey } = spawn(made, "isolated");
      const answered: unknown = await member(
        made.engine,
        "prepareSubagentSpawn",
      )({ parentSessionKey, childSessionKey });
      must(
        answered === undefined || isRecord(answered),
        `prepareSubagentSpawn() answered ${shown(answered)}.`,
      );
    },
  },
  {
    id: "subagent.rollback",
    title: "A rollback leaves the parent unchanged and the child can be prepared again.",
    needs: "prepareSubagentSpawn",
    async run({ stage }) {
      const made = await stage();
      await made.know(turns(3));
      const before = await context(made);
      const prepare = member(made.engine, "prepareSubagentSpawn");
      const answered = await prepare(spawn(made, "fork"));
      onlyIf(answered !== undefined, "The engine has nothing to roll back.");
      await answered.rollback();
      must((await context(made)) === before, "The parent's context was different after the rollback.");
      await (await prepare(spawn(made, "fork")))?.rollback();
    },
  },
  {
    id: "subagent.ended",
    title: "However a child ends, and also when its end is reported twice, its parent is unchanged.",
    needs: "onSubagentEnded",
    async run({ stage }) {
      for (const reason of REASONS) {
        const made = await stage();
        await made.know(turns(3));
        const before = await context(made);
        await made.engine.prepareSubagentSpawn?.(spawn(made, "fork"));
        const ended = member(made.engine, "onSubagentEnded");
        await ended({ childSessionKey: childKey(made), reason });
        await ended({ childSessionKey: childKey(made), reason });
        must(
          (await context(made)) === before,
          `The parent's context was different after its child was ${reason}.`,
        );
      }
    },
  },
  {
    id: "subagent.unknown",
    title: "The end of an unknown child is not an error.",
    needs: "onSubagentEnded",
    async run({ stage }) {
      const made = await stage();
      for (const reason of REASONS)
        await member(
          made.engine,
          "onSubagentEnded",
        )({ childSessionKey: `${made.sessionKey}:never-seen`, reason });
    },
  },
];

/** The histories that recall is tuned and reported on; no session is in both. */
import { recordedSessions } from "../replay/claude-code.ts";
import { asOneAgent, type RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import { readDialogues, recordedDialogues } from "../replay/tau-bench.ts";
import { plantFacts, type Vocabulary } from "./facts.ts";
import { laterQuestions } from "./later-turns.ts";
import type { RecallCase } from "./measure.ts";

export type Split = "tuning" | "reporting";

const PLANTED: Record<Split, { seed: number; vocabulary: Vocabulary }> = {
  tuning: { seed: 11, vocabulary: 0 },
  reporting: { seed: 23, vocabulary: 1 },
};

/** Tasks below this number are for tuning, the others for reporting. */
const FIRST_REPORTED_TASK = 25;
const FACTS = 80;

function coding(split: Split): RecordedSession | undefined {
  const recorded = recordedSessions();
  if (!recorded) return undefined;
  const all = [...recorded.main, ...recorded.subagents];
  // The oldest session with its sub-agents is for tuning.
  const oldest = recorded.main[0]?.name ?? "";
  const chosen = all.filter(({ name }) => name.startsWith(oldest) === (split === "tuning"));
  return asOneAgent(`coding sessions, ${split}`, chosen);
}

function dialogues(split: Split): RecordedSession | undefined {
  const chosen = recordedDialogues()
    ?.filter(({ task_id }) => task_id < FIRST_REPORTED_TASK === (split === "tuning"))
    .toSorted((a, b) => a.trial - b.trial || a.task_id - b.task_id);
  return chosen && readDialogues(`service dialogues, ${split}`, chosen);
}

/** Planted facts over a whole session, and its later turns asked about at half of it. */
function casesOf(session: RecordedSession, split: Split, facts: number): RecallCase[] {
  const { name, factor } = session;
  const planted = plantFacts(session.messages, { ...PLANTED[split], count: facts });
  const half = Math.floor(session.calls.length / 2);
  const end = session.calls[half]?.end ?? 0;
  return [
    { name, factor, ...planted },
    {
      name,
      factor,
      messages: session.messages.slice(0, end),
      questions: laterQuestions(session, half),
    },
  ];
}

/** Cases of one split; none without the recordings. */
export function recallCases(split: Split, facts = FACTS): RecallCase[] {
  return [coding(split), dialogues(split)].flatMap((session) =>
    session ? casesOf(session, split, facts) : [],
  );
}

/** Lasting rules in sight after imports and compactions, as rows: those in force, and those that were taken back. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { losslessPreview } from "../recall/preview.ts";
import { recordedSessions } from "../replay/claude-code.ts";
import { entryId } from "../../../packages/replay/src/recorded-session.ts";
import { ruleConversation, type ConversationOptions, type RuleConversation } from "./conversation.ts";
import { REPORTING, TUNING, type RuleForm } from "./templates.ts";

const BUDGETS = [8_000, 16_000, 32_000, 64_000, 200_000] as const;
/** Characters for each token of the budget, so that most is out of sight. */
const LENGTH = 7;
const RULES = 5;
/** Share of a recorded session's turns over which its rules are spread. */
const SPREAD = 0.6;
/** Mark of the engine after such a rule in a quoted passage. */
const TAKEN_BACK = " (taken back later)";
const QUESTION = "What shall we do next?";
const SETS: readonly [string, readonly RuleForm[]][] = [
  ["tuning forms", TUNING],
  ["reporting forms", REPORTING],
];

class Tally {
  kept = 0;
  inSight = 0;
  ended = 0;
  inForce = 0;
  readonly examples: string[] = [];

  /** A rule that was taken back is in force where its words are in sight, without a mark and without the words that ended it after them. */
  add(text: string, { rules }: Pick<RuleConversation, "rules">): void {
    const plain = text.replaceAll(/\s+/g, " ");
    for (const { text: rule, fate, end = "" } of rules) {
      const at = plain.lastIndexOf(rule);
      if (fate === "kept") {
        this.kept++;
        if (at >= 0) this.inSight++;
        else this.examples.push(`not in sight: ${rule}`);
      } else {
        this.ended++;
        const rest = plain.slice(at + rule.length);
        if (at < 0 || rest.includes(end) || rest.startsWith(TAKEN_BACK)) continue;
        this.inForce++;
        this.examples.push(`in force: ${rule} / ${end}`);
      }
    }
  }

  rows(label: string): BenchRow[] {
    const row = (measure: string, value: number, unit: string): BenchRow => ({
      measure: `lasting rules, ${label}: ${measure}`,
      value,
      unit,
    });
    const share = (part: number, all: number): number => (all === 0 ? 0 : (100 * part) / all);
    return [
      row("rules in force", this.kept, ""),
      withTarget(row("in sight", share(this.inSight, this.kept), "%"), ">=", 100),
      row("rules that were taken back or replaced", this.ended, ""),
      withTarget(row("still in force", share(this.inForce, this.ended), "%"), "<=", 0),
    ];
  }
}

async function measured(conversation: RuleConversation, budget: number, tally: Tally): Promise<void> {
  const preview = losslessPreview();
  try {
    await preview.index(conversation.messages);
    const passages = await preview.recall(QUESTION, budget);
    tally.add(passages.map(({ text }) => text).join("\n"), conversation);
  } finally {
    await preview.close?.();
  }
}

/** The recorded session with rules and what ends them as turns of their own between its turns, most of them in its first half. */
function withRules(messages: readonly AgentMessage[], seed: number): RuleConversation {
  const form = { seed, forms: REPORTING, characters: 1, rules: RULES, works: false };
  const { rules, messages: spoken } = ruleConversation(form);
  const places = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  const at = (index: number): number =>
    places[Math.floor((SPREAD * places.length * index) / spoken.length)] ?? 0;
  const all = messages.flatMap((message, place) => [
    ...spoken.filter((_words, index) => at(index - (index % 2)) === place),
    message,
  ]);
  return { rules, messages: all.map((message, index) => ({ ...message, entryId: entryId(index) })) };
}

/** `quick`: one conversation of each kind at the smallest budget. */
export async function lastingRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [set, forms] of SETS) {
    for (const works of [false, true]) {
      for (const budget of quick ? BUDGETS.slice(0, 1) : BUDGETS) {
        const seeds = quick ? 1 : budget > 64_000 ? 2 : budget > 16_000 ? 4 : 12;
        const tally = new Tally();
        for (let seed = 0; seed < seeds; seed++) {
          const options: ConversationOptions = {
            seed,
            forms,
            characters: LENGTH * budget,
            rules: RULES,
            works,
          };
          await measured(ruleConversation(options), budget, tally);
        }
        const label = `${set}, ${works ? "work" : "talk"}, ${budget / 1_000}k`;
        log(
          `${label}: ${tally.inSight} of ${tally.kept} in sight, ${tally.inForce} of ${tally.ended} in force`,
        );
        for (const example of tally.examples) log(`  ${example}`);
        rows.push(...tally.rows(label));
      }
    }
  }
  return [...rows, ...(quick ? [] : await recordedRows(log))];
}

async function recordedRows(log: BenchOptions["log"]): Promise<BenchRow[]> {
  const recorded = recordedSessions();
  if (!recorded) return [];
  const tally = new Tally();
  for (const [index, { messages }] of recorded.main.entries())
    for (const budget of BUDGETS) await measured(withRules(messages, index), budget, tally);
  for (const example of tally.examples) log(`  ${example}`);
  log(
    `recorded coding sessions: ${tally.inSight} of ${tally.kept} in sight, ${tally.inForce} of ${tally.ended} in force`,
  );
  return tally.rows("recorded coding sessions, 8k to 200k");
}

import type { RuntimeExplanation, RuntimeFact, SelectionStep } from "@pagurus/contract/harness/runtimes";
import { oneLine, table } from "@pagurus/host/command/layout";
import { type Cli, printJson, printLine, type Style, styleFor, withPagurus } from "../cli.ts";
import { EXIT_DONE, exitCodeFor } from "../cli-failure.ts";
import { defined } from "@pagurus/core/data/defined";

export interface RuntimesListOptions {
  model?: string;
  agent?: string;
  programs?: boolean;
  json?: boolean;
}

export interface RuntimesExplainOptions {
  agent?: string;
  runtime?: string;
  json?: boolean;
}

const REASON_MAX_CHARS = 300;

/** `pagurus runtimes list`. */
export function runtimesList(cli: Cli, options: RuntimesListOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const { model, agent, programs } = options;
    const facts = await pagurus.runtimes.list({
      ...defined({ model, agentId: agent }),
      ...(programs === true ? { programs } : {}),
    });
    if (options.json === true) {
      printJson(cli, facts);
      return EXIT_DONE;
    }
    const style = styleFor(cli.stdout, cli.env);
    const [head = "", ...lines] = table(
      ["Runtime", `Runs ${facts[0]?.runs.model ?? ""}`, "Family", "Execution", "Seam", "Name"],
      facts.map((fact) => [
        fact.id,
        fact.runs.supported ? "yes" : "no",
        fact.family,
        fact.execution,
        fact.seam,
        nameOf(fact),
      ]),
    );
    printLine(cli.stdout, style("bold", head));
    for (const line of lines) printLine(cli.stdout, line);
    for (const line of facts.flatMap(factNotes)) printLine(cli.stdout, line);
    return EXIT_DONE;
  });
}

function nameOf({ label, aliases }: RuntimeFact): string {
  return aliases.length === 0 ? label : `${label} (also ${aliases.join(", ")})`;
}

/** Notes on a runtime, printed below the table: its program, and why it cannot run the model. */
function factNotes({ id, runs, program }: RuntimeFact): string[] {
  const notes: string[] = [];
  if (runs.reason !== undefined) notes.push(`${id}: ${oneLine(runs.reason, REASON_MAX_CHARS)}`);
  if (program && "problem" in program && program.problem !== runs.reason)
    notes.push(`${id}: ${oneLine(program.problem, REASON_MAX_CHARS)}`);
  if (program && "version" in program) {
    notes.push(`${id}: ${program.program}, version ${program.version}, ${program.login}`);
    if (program.drift !== undefined) notes.push(`${id}: ${program.drift}`);
  }
  return notes;
}

/** `pagurus runtimes explain`. Exits with the code of a refused run. */
export function runtimesExplain(
  cli: Cli,
  model: string | undefined,
  options: RuntimesExplainOptions,
): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const { agent, runtime } = options;
    const explanation = await pagurus.runtimes.explain({
      ...defined({ model, agentId: agent, runtime }),
    });
    if (options.json === true) printJson(cli, explanation);
    else
      for (const line of explanationLines(explanation, styleFor(cli.stdout, cli.env)))
        printLine(cli.stdout, line);
    return explanation.problem ? exitCodeFor(explanation.problem.code) : EXIT_DONE;
  });
}

const MARKS: Readonly<Record<SelectionStep["outcome"], string>> = {
  chosen: "✓",
  auto: "→",
  absent: "·",
  declined: "✗",
  unasked: "·",
};

function explanationLines(explanation: RuntimeExplanation, style: Style): string[] {
  const { runtime, problem, steps, ignored } = explanation;
  const rows = steps.map((step) => [
    `  ${MARKS[step.outcome]} ${step.source}`,
    step.detail !== undefined && step.detail === runtime?.why ? "declined, see above" : stepText(step),
  ]);
  // The heading is not a row, since it would set the width of a column.
  const [, ...lines] = table(["", ""], rows);
  return [
    ...answerLines(explanation, style),
    ...(runtime ? [`Chosen by: ${runtime.source}`] : []),
    ...(runtime?.why === undefined ? [] : [`Because:   ${oneLine(runtime.why, REASON_MAX_CHARS)}`]),
    ...(problem ? [`A run would be refused: ${oneLine(problem.message, Infinity)} [${problem.code}]`] : []),
    "",
    "Rules in order; the first that names a runtime decides:",
    ...lines,
    ...(ignored.length === 0 ? [] : ["", "Not considered:", ...ignored.map((each) => `  ${each}`)]),
  ];
}

function answerLines({ model, writtenAs, agentId, runtime }: RuntimeExplanation, style: Style): string[] {
  const meant = writtenAs === undefined ? "" : ` (written as ${writtenAs})`;
  const agent = agentId === "main" ? "" : ` for the agent ${agentId}`;
  const subject = `${model}${meant}${agent}`;
  if (!runtime) return [style("bold", `${subject} runs in no runtime.`)];
  return [
    style("bold", `${subject} runs in ${runtime.id}.`),
    `Runtime:   ${runtime.label}; ${runtime.execution}; seam ${runtime.seam}`,
  ];
}

function stepText({ outcome, detail }: SelectionStep): string {
  const text = oneLine(detail ?? "", REASON_MAX_CHARS);
  switch (outcome) {
    case "absent":
      return "nothing";
    case "unasked":
      return text === "" ? "not asked" : `${text}, not asked`;
    case "auto":
      return `${text}: claims decide`;
    case "chosen":
    case "declined":
      return text;
  }
}

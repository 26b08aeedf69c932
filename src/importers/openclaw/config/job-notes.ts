/** Names each job of OpenClaw's scheduler with the command that creates it here. */
import { recordOf } from "../../../data/record-fields.ts";
import { shellWord } from "../../../platform/shell-word.ts";

type Fields = Record<string, unknown>;

/** Characters of a prompt that a note repeats; a longer one is named, not repeated. */
const MOST_PROMPT = 2_000;

function filled(...texts: unknown[]): string | undefined {
  return texts.find((text): text is string => typeof text === "string" && text.trim() !== "");
}

/** The prompt of an agent's turn, or the text of an event. */
function promptOf({ payload }: Fields): string | undefined {
  const { message, text } = recordOf(payload);
  return filled(message, text);
}

/** Options of `pagurus jobs add`, as far as they say when; undefined for a schedule that is not known. */
function timesOf({ expr, everyMs, at, atMs, tz }: Fields): string[] | undefined {
  const zone = typeof tz === "string" && tz !== "" ? ["--tz", tz] : [];
  if (typeof expr === "string" && expr.trim() !== "") return [expr, ...zone];
  if (typeof everyMs === "number" && everyMs > 0)
    return ["--every", `${Math.max(1, Math.round(everyMs / 1_000))}s`];
  if (typeof at === "string" && at !== "") return ["--at", at, ...zone];
  return typeof atMs === "number" && Number.isFinite(atMs)
    ? ["--at", new Date(atMs).toISOString()]
    : undefined;
}

/** Jobs of OpenClaw run in the main session of their agent, or each in its own. */
function sessionOf({ sessionTarget, id }: Fields, agent: string): string {
  return sessionTarget === "isolated" ? `cron-${filled(id) ?? "job"}` : `agent:${agent}:main`;
}

/** A sentence with the command; it is not run, since a job acts without a person. */
export function jobNote(job: Fields): string {
  const name = JSON.stringify(filled(job["name"], job["id"]) ?? "without a name");
  const times = timesOf(recordOf(job["schedule"]));
  const prompt = promptOf(job);
  if (!times || prompt === undefined || prompt.length > MOST_PROMPT) {
    const reason = !times
      ? "its schedule is not known here"
      : prompt === undefined
        ? "it has no prompt"
        : "its prompt is long";
    return `The scheduled job ${name} is not taken: ${reason}; pagurus jobs add creates one like it.`;
  }
  const agent = filled(job["agentId"]) ?? "main";
  const words = [
    ...times,
    "--session",
    sessionOf(job, agent),
    ...(agent === "main" ? [] : ["--agent", agent]),
    ...(prompt.startsWith("-") ? ["--"] : []),
    prompt,
  ];
  const off = job["enabled"] === false ? " It is switched off there." : "";
  return `The scheduled job ${name} is not taken by itself; this creates it: pagurus jobs add ${words.map(shellWord).join(" ")}${off}`;
}

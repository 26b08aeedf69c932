/** Skills and custom commands for the stages of a turn and the host. Nothing here throws. */
import type { AgentHarness } from "../../contract/harness/harness.ts";
import type { CustomCommandReport, ExpandedCommand, SkillReport } from "../../contract/host/skill.ts";
import { skillReport, turnSkills, type TurnSkills } from "../../skill/section.ts";
import type { SkillSearch } from "../../skill/skill-list.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import type { AgentHost } from "../turn-scope.ts";

function searchAt(host: AgentHost, cwd: string | undefined): SkillSearch {
  const folder = cwd ?? host.settings.workspace ?? process.cwd();
  return { cwd: folder, home: host.home, trusted: host.trust.isTrusted(folder), config: host.config.skills };
}

/** Read again for each turn and each view of one, like project instructions. */
export function skillsFor(
  host: AgentHost,
  cwd: string,
  harness: Pick<AgentHarness, "nativeSkills"> | undefined,
): TurnSkills {
  return turnSkills(searchAt(host, cwd), harness?.nativeSkills);
}

/** Their piece of the system prompt; none without skills. */
export function skillPieces({ section }: TurnSkills): SystemPiece[] {
  return section === "" ? [] : [{ source: "instructions", text: section }];
}

interface At {
  cwd?: string;
}

export async function skillsAt(host: AgentHost, { cwd }: At): Promise<SkillReport> {
  return skillReport(searchAt(host, cwd));
}

export async function customCommandsAt(host: AgentHost, { cwd }: At): Promise<CustomCommandReport> {
  // Loaded late: no turn needs it.
  const { commandReport } = await import("../../skill/custom-commands.ts");
  return commandReport(searchAt(host, cwd));
}

export async function expandCustomCommand(
  host: AgentHost,
  { name, args = "", cwd }: At & { name: string; args?: string },
): Promise<ExpandedCommand | undefined> {
  const { expandCommand } = await import("../../skill/custom-commands.ts");
  return expandCommand(searchAt(host, cwd), name, args);
}

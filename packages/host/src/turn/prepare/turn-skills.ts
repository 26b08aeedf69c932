/** Skills and custom commands for the stages of a turn and the host. Nothing here throws. */
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { CustomCommandReport, ExpandedCommand, SkillReport } from "@pagurus/contract/host/skill";
import { BUNDLED_SKILLS, isAboutSkills, skillHints } from "../../skill/bundled-skills.ts";
import { skillReport, turnSkills, type TurnSkills } from "../../skill/section.ts";
import type { SkillSearch } from "../../skill/skill-list.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { Admitted } from "../state/admitted.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

function searchAt(host: AgentHost, cwd: string | undefined, isBundled = true): SkillSearch {
  const folder = cwd ?? host.settings.workspace ?? currentFolder();
  const trusted = host.trust.isTrusted(folder);
  const { home, config } = host;
  const bundled = isBundled ? BUNDLED_SKILLS : undefined;
  return { cwd: folder, home, trusted, config: config.skills, bundled };
}

/**
 * Read again for each turn and each view of one, like project instructions; those of the package only for an input about one of their
 * subjects.
 */
export function skillsFor(
  host: AgentHost,
  cwd: string,
  harness: Pick<AgentHarness, "nativeSkills"> | undefined,
  input = "",
): TurnSkills {
  return turnSkills(searchAt(host, cwd, isAboutSkills(input)), harness?.nativeSkills);
}

/** Their piece of the system prompt; none without skills. */
export function skillPieces({ section }: TurnSkills): SystemPiece[] {
  return section === "" ? [] : [{ source: "instructions", text: section }];
}

/** Names the skills of the package that the input is about, where the model gets the host's instructions. */
export function hintsFor(
  { harness, request }: Pick<Admitted, "harness" | "request">,
  { onDemand }: TurnSkills,
): AdditionalContext {
  const isOwn = harness.ownsInstructions === true || request.audience !== undefined;
  return isOwn ? {} : skillHints(onDemand, request.prompt);
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

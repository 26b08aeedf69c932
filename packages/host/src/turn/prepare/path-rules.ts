/**
 * Rules of `.claude/rules` for certain files alone, which join the result of the first call in a turn that reads or changes one of them, and of
 * the first after each compaction, which may have taken them out of the context.
 */
import { fencedFile } from "@pagurus/contract/fence";
import type { ToolCallPart } from "@pagurus/contract/message";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { attempt } from "@pagurus/core/data/attempt";
import { openWorkspace, writtenPath } from "../../tool/places/workspace-boundary.ts";
import { conditionalRules, type ConditionalRule } from "../../tool/project-instructions.ts";

/** Host tools whose argument `path` is a file that they read or change. */
const FILE_TOOLS: ReadonlySet<string> = new Set(["read", "write", "edit"]);

interface Place {
  cwd: string;
  trusted: boolean;
  home?: string | undefined;
}

export class PathRules {
  readonly #place: Place;
  readonly #channel: { readonly compactions: number };
  /** Absent before the first call on a file. */
  #rules: ConditionalRule[] | undefined;
  readonly #shown = new Set<string>();
  #compactions = 0;

  constructor(place: Place, channel: { readonly compactions: number }) {
    this.#place = place;
    this.#channel = channel;
  }

  /** The outcome with the rules for its file that the context lacks; undefined without one. */
  added(call: Pick<ToolCallPart, "name" | "arguments">, outcome: ToolOutcome): ToolOutcome | undefined {
    const path = call.arguments["path"];
    if (outcome.isError || !FILE_TOOLS.has(call.name) || typeof path !== "string") return undefined;
    const { compactions } = this.#channel;
    if (compactions !== this.#compactions) this.#shown.clear();
    this.#compactions = compactions;
    const { trusted } = this.#place;
    const files = this.#filesOf(path);
    const fresh = this.#all().filter(
      (rule) => !this.#shown.has(rule.path) && files.some((file) => rule.condition(file)),
    );
    if (fresh.length === 0) return undefined;
    const texts = fresh.map(({ path: of, text }) => {
      this.#shown.add(of);
      return { type: "text" as const, text: fencedFile("project_instructions", { path: of, text, trusted }) };
    });
    return { ...outcome, content: [...outcome.content, ...texts] };
  }

  /** The file as the tools find it, and under the name that the call has: a link may lead to another folder. */
  #filesOf(path: string): string[] {
    const workspace = attempt(() => openWorkspace(this.#place.cwd));
    const real = attempt(() => workspace?.locate(path).path);
    return workspace && real !== undefined ? [real, writtenPath(workspace.root, path)] : [];
  }

  #all(): ConditionalRule[] {
    const { cwd, home } = this.#place;
    return (this.#rules ??= attempt(() => conditionalRules(cwd, { home })) ?? []);
  }
}

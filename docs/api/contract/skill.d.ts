/** Skills, custom slash commands and plans, as a caller of the host sees them. */
import type { PlanStep } from "./events.ts";
/** A folder with a `SKILL.md`: instructions that a model reads when a task needs them. */
export interface SkillFact {
    /** As its front matter says; of a broken one the name of its folder. */
    name: string;
    /** One line; empty where it is broken. */
    description: string;
    /** Absolute path of its `SKILL.md`. */
    path: string;
    /**
     * `offered`: named in the instructions of a turn. `unlisted`: offered too, but there is no room to name it.
     * `shadowed`: another of its name goes before it. `disabled`: by `skills.entries.<name>.enabled`. `broken`: unusable.
     */
    state: "offered" | "unlisted" | "disabled" | "shadowed" | "broken";
    /** Why it is not offered, a sentence; absent where it is. */
    reason?: string;
    /** What is odd about it, a sentence each; it is used all the same. */
    notes: string[];
}
export interface SkillReport {
    /** In the order in which they are looked for; in one folder by name. */
    skills: SkillFact[];
    /** Folders that could not be looked through, or not to their end; a sentence each. */
    problems: string[];
    /** What the skills add to the instructions of a turn; estimated tokens. */
    tokens: number;
}
/** A Markdown file that a user sends by saying its name behind a slash. */
export interface CustomCommandFact {
    /** Without the slash, lower case; of a file in a subfolder `folder:name`. */
    name: string;
    description: string;
    /** Arguments as `/help` shows them; empty where the file says nothing of them. */
    argumentHint: string;
    /** Absolute path of the file. */
    path: string;
    /** Model ref for the turn that it starts. */
    model?: string;
    /** `shadowed`: another command of this name, the host's own included, goes before it. */
    state: "offered" | "shadowed" | "broken";
    /** Why it is not offered, a sentence; absent where it is. */
    reason?: string;
    /** What it holds that has no effect here, a sentence each. */
    notes: string[];
}
export interface CustomCommandReport {
    commands: CustomCommandFact[];
    /** As for skills. */
    problems: string[];
}
/** What a custom command stands for. */
export interface ExpandedCommand {
    /** The user's message. */
    prompt: string;
    /** Model ref for this turn, where the file names one. */
    model?: string;
}
interface Place {
    agentId?: string;
    cwd?: string;
}
/** Custom slash commands of a working folder and of the user. */
export interface CustomCommands {
    list(request?: Place): Promise<CustomCommandReport>;
    /** The prompt of a command; undefined where none of this name is offered. The host's own names are not looked at. */
    expand(request: Place & {
        name: string;
        args?: string;
    }): Promise<ExpandedCommand | undefined>;
}
/** The newest plan of a session. */
export interface PlanFact {
    turnId: string;
    /** ISO 8601. */
    timestamp: string;
    explanation?: string;
    steps: PlanStep[];
}
export {};

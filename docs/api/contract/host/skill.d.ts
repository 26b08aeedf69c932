/** Skills, custom slash commands and plans, as a caller of the host sees them. */
import type { PlanStep } from "./events.ts";
/** A folder with a `SKILL.md`: instructions that a model reads when a task needs them. */
export interface SkillFact {
    /** From its front matter; for a broken one the folder's name. */
    name: string;
    /** One line; empty if it is broken. */
    description: string;
    /** Absolute path of its `SKILL.md`. */
    path: string;
    /**
     * `offered`: named in the instructions of a turn. `unlisted`: offered too, but left out of the list for its size limit.
     * `manual`: for the person alone, who starts it as a command; the model's list leaves it out.
     * `on-demand`: of the package; only a turn whose input is about its subject names it.
     * `shadowed`: another of its name takes precedence. `disabled`: by `skills.entries.<name>.enabled`. `broken`: unusable.
     */
    state: "offered" | "unlisted" | "manual" | "on-demand" | "disabled" | "shadowed" | "broken";
    /** Why it is not offered, a sentence; absent if it is. */
    reason?: string;
    /** Warnings about it, a sentence each; it is used anyway. */
    notes: string[];
}
export interface SkillReport {
    /** In lookup order; within a folder by name. */
    skills: SkillFact[];
    /** Folders that could not be read, or not completely; a sentence each. */
    problems: string[];
    /** Estimated tokens that the skills add to the instructions of a turn. */
    tokens: number;
}
/** A Markdown file that a user sends by typing its name after a slash. */
export interface CustomCommandFact {
    /** Without the slash, lower case; of a file in a subfolder `folder:name`. */
    name: string;
    description: string;
    /** Arguments as `/help` shows them; empty where the file has none. */
    argumentHint: string;
    /** Absolute path of the file. */
    path: string;
    /** Model ref for the turn it starts. */
    model?: string;
    /** `shadowed`: another command of this name, the host's own included, takes precedence. */
    state: "offered" | "shadowed" | "broken";
    /** Why it is not offered, a sentence; absent if it is. */
    reason?: string;
    /** Parts of it without effect here, a sentence each. */
    notes: string[];
}
export interface CustomCommandReport {
    commands: CustomCommandFact[];
    /** As for skills. */
    problems: string[];
}
/** Expansion of a custom command. */
export interface ExpandedCommand {
    /** The user's message. */
    prompt: string;
    /** Model ref for this turn, if the file names one. */
    model?: string;
    /** The file is in a folder that is not trusted: the prompt is fenced, and files that it mentions are not attached. */
    isForeign?: boolean;
}
interface Place {
    agentId?: string;
    cwd?: string;
}
/** Custom slash commands of a working folder and of the user. */
export interface CustomCommands {
    /** Every command, offered or not. An unreadable file or folder is no error: it is `broken` or among the problems. */
    list(request?: Place): Promise<CustomCommandReport>;
    /**
     * Expands a command to its prompt; undefined if none of this name is offered, never an error. The host's own names are not
     * considered.
     */
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

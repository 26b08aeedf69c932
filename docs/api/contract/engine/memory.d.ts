/**
 * The memory contract: search and prompt sections, apart from the context engine. One in `plugins.slots.memory` at a
 * time. Source: context-engine page, "Relationship to compaction and memory".
 */
/** Whether the agent names the source of its memories; `memory.citations` of the configuration. */
export type CitationsMode = "auto" | "on" | "off";
export interface MemoryHit {
    path: string;
    /** 1-based line of the passage. */
    line: number;
    text: string;
    score: number;
}
export interface Memory {
    readonly id: string;
    /** Called by the memory tool. May throw: the tool reports the error. Deadline 15 s. */
    search(query: string, options: {
        limit: number;
        signal: AbortSignal;
    }): Promise<MemoryHit[]>;
    /**
     * Called once per turn, while its prompt is built. Returns the lines of the memory section, empty if there is nothing to
     * remember (then the turn has no memory tool either). The same memory gives the same lines. May throw: the section is left
     * out with a warning. Deadline 5 s.
     */
    promptSection(params: {
        availableTools: Set<string>;
        citationsMode?: CitationsMode;
    }): Promise<string[]>;
    /** Called at shutdown and plugin reload. A failure is logged. Deadline 10 s. */
    dispose?(): Promise<void>;
}
export type MemoryFactory = (context: {
    workspaceDir: string;
    config?: unknown;
}) => Memory | Promise<Memory>;

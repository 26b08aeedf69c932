/** The memory contract: search and prompt sections, apart from the context engine. One in the slot at a time. */
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
    /** Called while a prompt is built. May throw: the section is left out with a warning. Deadline 5 s. */
    promptSection(params: {
        availableTools: Set<string>;
        citationsMode?: "auto" | "on" | "off";
    }): Promise<string[]>;
    dispose?(): Promise<void>;
}
export type MemoryFactory = (context: {
    workspaceDir: string;
    config?: unknown;
}) => Memory | Promise<Memory>;

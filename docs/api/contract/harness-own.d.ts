/** What a runtime brings along by itself, so that the host neither says, offers nor counts it. */
export interface HarnessOwn {
    /** Tools of the host that the runtime has as its own: they are not offered, and rule what its own may do. */
    readonly nativeTools?: readonly string[];
    /** Folders, seen from the workspace, whose skills the runtime tells its model of by itself: the host does not. */
    readonly nativeSkills?: readonly string[];
    /**
     * Tokens of system prompt and tools that the runtime itself adds to each request of the session, where it knows them; they
     * count against the window in the place of the host's own. Asked before each turn. Never throws.
     */
    fixedTokens?(sessionKey: string): number | undefined;
    /**
     * The system prompt is the runtime's own: base instructions, project files and skills of the host are no part of what the
     * model sees, nor are tools of the host but those of `takesTools`.
     */
    readonly ownsInstructions?: boolean;
    /** With `ownsInstructions`: tools of the host that its model has all the same; `engine`: those of the engine's own plugin. */
    readonly takesTools?: readonly string[] | "engine";
    /**
     * Where no engine governs, the runtime keeps the context of its threads itself and compacts them in its own way; the
     * host then compacts nothing before or inside its turns.
     */
    readonly keepsContext?: boolean;
}

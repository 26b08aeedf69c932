/** Abilities that a runtime has by itself, so that the host neither announces, offers nor counts it. */
export interface HarnessOwn {
  /** Tools of the host that the runtime has as its own: not offered, but their permissions apply to the runtime's own. */
  readonly nativeTools?: readonly string[];
  /** Folders, relative to the workspace, whose skills the runtime lists to its model by itself; the host skips them. */
  readonly nativeSkills?: readonly string[];
  /**
   * Tokens of system prompt and tools that the runtime itself adds to each request of the session, where known; they count
   * against the window instead of the host's own. Called before each turn. Never throws.
   */
  fixedTokens?(sessionKey: string): number | undefined;
  /**
   * The system prompt is the runtime's own: the model sees neither the host's base instructions, project files and skills, nor
   * any host tools except those of `takesTools`.
   */
  readonly ownsInstructions?: boolean;
  /** With `ownsInstructions`: host tools that its model gets anyway; `engine`: those of the engine's own plugin. */
  readonly takesTools?: readonly string[] | "engine";
  /**
   * Where no engine governs, the runtime keeps and compacts the context of its threads itself; the host then compacts nothing
   * before or inside its turns.
   */
  readonly keepsContext?: boolean;
}

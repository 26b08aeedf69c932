/** The interface between `pagurus install` and one program: where it is, which files its adapter needs, what is left of a change. */

export interface InstallFacts {
  /** Home of Pagurus. */
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Command that starts the host in the background. */
  wake: string[];
  /** Version of Pagurus. */
  version: string;
}

export interface FileChange {
  /** Absolute. */
  path: string;
  /** New text. */
  text: string;
  /** Sentence about the change, for the user. */
  about: string;
}

/** The parts of the engine's work that an adapter can do in its program. Texts for people; false for a part that it cannot do. */
export interface AdapterAbilities {
  /** The messages of each request are the engine's. */
  assemble: string | false;
  /** Compactions that it answers, by what starts them. */
  compaction: Record<"manual" | "automatic" | "ahead" | "subagents", string | false>;
  /** A large result is kept and shown in part. */
  results: string | false;
  /** Passages for a prompt. */
  recall: string | false;
  /** Tokens and costs that the program reports. */
  usage: string | false;
  /** Use of the provider's cache that it reports. */
  cache: string | false;
}

export interface ProgramInstall {
  /** As the user names it: `claude-code`. */
  id: string;
  /** As it names itself. */
  label: string;
  abilities: AdapterAbilities;
  /** Where its files are; undefined where the program is not on this machine. */
  find(facts: InstallFacts): { folder: string } | undefined;
  /** Changes to its files and new files. Throws `usage_invalid` where something of the user is in the way. */
  changes(facts: InstallFacts, folder: string): FileChange[];
  /**
   * A file that the user changed since, without what the installation put into it; undefined where it has nothing of it any more. Absent
   * for a program whose installation changes no file of the user.
   */
  withdraw?(path: string, text: string): string | undefined;
}

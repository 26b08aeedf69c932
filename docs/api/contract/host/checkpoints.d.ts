/** Files of a session's folder as they were before its turns. */
/** Type of the `custom` entry that records, after a rewind, how it is taken back. */
export declare const REWOUND_ENTRY = "pagurus.rewound";
/** Data of that entry. */
export interface RewoundNote {
    /** The end of the conversation before; null: it was empty. */
    leaf: string | null;
    /** Number of the checkpoint taken before the rewind; absent if no file changed. */
    checkpoint?: number;
    /** Paths that were changed back, the first ones; readable for a person. */
    files?: string[];
    /** Number of all these paths. */
    count?: number;
}
export interface FileRewindRequest {
    sessionKey?: string;
    agentId?: string;
    cwd?: string;
    /** To before a turn, or to a checkpoint. */
    to: {
        turnId: string;
    } | {
        checkpoint: number;
    };
    /** Also over what the user, or another conversation, changed since. */
    overwrite?: boolean;
    /** Changes nothing, and has the changed lines. */
    preview?: boolean;
    signal?: AbortSignal;
}
/** The `problem` of a folder whose turns make no checkpoints. */
export declare const NO_CHECKPOINTS = "there are no checkpoints of this folder";
/** The `problem` of a conversation at a server. */
export declare const FILES_AT_SERVER = "a chat at a server restores no files; use pagurus checkpoints restore on its machine";
export interface FileRewind {
    /** Number of the checkpoint of the files before this, to take it back; absent where no file changed. */
    undo?: number;
    /** A line for each path that changed, for example `M src/a.ts`; of a preview, those that would change. */
    changes: string[];
    /** Paths that were changed, readable for a person. */
    files: string[];
    /** Paths that stay as they are, and why. */
    kept: {
        path: string;
        why: string;
    }[];
    /** Changed lines, of a preview. */
    diff?: string[];
    /** Why files cannot be rewound; absent where they can. */
    problem?: string;
}
/** A rewind of files that changed none, and the reason. */
export declare function filesUnchanged(problem: string): FileRewind;

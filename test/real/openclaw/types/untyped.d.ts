/** Modules of OpenClaw's kit that its package has no types of. */
declare module "openclaw/plugin-sdk/session-transcript-runtime" {
  export function readVisibleSessionTranscriptMessageEntries(target: object): Promise<{ entryId: string }[]>;
}

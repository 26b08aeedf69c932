/** The command of the resident host's own process. Not in the help: commands start it by themselves. */
export const RESIDENT_COMMAND = "resident-host";

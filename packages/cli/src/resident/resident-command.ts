/** The command of the resident host's own process. Not in the help: commands start it by themselves. */
export const RESIDENT_COMMAND = "resident-host";
/** The command with which an adapter in another program starts that host. Not in the help either. */
export const WAKE_COMMAND = "wake-host";

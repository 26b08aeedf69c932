/**
 * Where a setting of a wrapped program was made. Only the first four are the user's own: `project` is a file of the folder, which
 * decides nothing until the folder is trusted.
 */
export type SettingOrigin = "arguments" | "environment" | "user" | "built-in" | "project";

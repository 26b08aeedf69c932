/** Theme and motion of the page, kept in this browser; the system's own settings count where the user has chosen none. */
import { signal } from "@preact/signals";

type Theme = "system" | "light" | "dark";
type Motion = "system" | "off";

const THEME = "pagurus-theme";
const MOTION = "pagurus-motion";
/** Grounds of tokens.css, for the frame of the browser's window. */
const GROUNDS = { light: "#f8f8f6", dark: "#14161a" } as const;

function keptTheme(): Theme {
  const kept = localStorage.getItem(THEME);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export const theme = signal<Theme>(keptTheme());
export const motion = signal<Motion>(localStorage.getItem(MOTION) === "off" ? "off" : "system");

function apply(): void {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset["theme"];
  else dataset["theme"] = theme.value;
  if (motion.value === "off") dataset["motion"] = "off";
  else delete dataset["motion"];
  for (const meta of document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")) {
    const own = meta.media.includes("dark") ? GROUNDS.dark : GROUNDS.light;
    meta.content = theme.value === "system" ? own : GROUNDS[theme.value];
  }
}

export function setTheme(value: Theme): void {
  theme.value = value;
  localStorage.setItem(THEME, value);
  apply();
}

export function setMotion(value: Motion): void {
  motion.value = value;
  localStorage.setItem(MOTION, value);
  apply();
}

apply();

/** Builds the page into `dist/inspector`; run by `npm run build`. */
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  // Relative addresses: a reverse proxy may have the page below a path of its own.
  base: "./",
  logLevel: "warn",
  worker: { format: "es" },
  build: {
    outDir: "../../dist/inspector",
    emptyOutDir: true,
    target: "es2024",
    // No inlined data and no script besides the files that index.html names: the page's policy allows neither.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});

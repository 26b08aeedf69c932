/** Installs a package and kills itself before a step: `<home> <spec> <step>`. `npm`: it is killed while npm runs. */
import { spawn } from "node:child_process";
import { installPlugin } from "../../../packages/host/src/plugin/install/install.ts";
import { parseSource } from "../../../packages/host/src/plugin/install/install-source.ts";

const [home = "", spec = "", at = ""] = process.argv.slice(2);
await installPlugin(parseSource(spec, home), {
  home,
  env: process.env,
  allowScripts: true,
  onStep: (step) => {
    if (step === at) process.kill(process.pid, "SIGKILL");
    if (at === "npm" && step === "dependencies") {
      // Killed by another process: this one waits for npm by then.
      const wait = `while [ ! -s "${process.env["FAKE_NPM_PID"]}" ]; do sleep 0.02; done; kill -9 ${process.pid}`;
      spawn("sh", ["-c", wait], { detached: true, stdio: "ignore" }).unref();
    }
  },
});

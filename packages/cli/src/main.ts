/**
 * Entry of the command line. `--version` is answered before anything else is loaded, so this file imports only the package.json
 * reader.
 */
import { packageVersion } from "@pagurus/core/platform/package-version";

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.exitCode = 1;
    process.stderr.write(`pagurus: The standard output cannot be written: ${error.message}.\n`);
  });
  process.stdout.write(`${packageVersion()}\n`);
} else {
  const { runProcess } = await import("./cli-process.ts");
  await runProcess(argv);
}

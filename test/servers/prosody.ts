/** A throw-away XMPP server: Debian's prosody on loopback ports, with an archive, groups and uploads. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../server/serve-setting.ts";

const PROSODY = "/usr/bin/prosody";
const PROSODYCTL = "/usr/bin/prosodyctl";
/** Debian packages that are not installed. */
export function missingProsody(): string[] {
  return existsSync(PROSODY) ? [] : ["prosody"];
}
const TRIES = 1_200;

function configOf(folder: string, port: number, httpPort: number): string {
  return `
run_as_root = true
pidfile = "${join(folder, "prosody.pid")}"
data_path = "${join(folder, "data")}"
certificates = "${join(folder, "certs")}"
plugin_paths = {}
modules_enabled = { "roster", "saslauth", "disco", "ping", "mam", "carbons", "offline" }
modules_disabled = { "s2s", "tls" }
allow_registration = false
c2s_require_encryption = false
authentication = "internal_hashed"
storage = "internal"
archive_expires_after = "never"
default_archive_policy = true
interfaces = { "127.0.0.1" }
c2s_ports = { ${port} }
http_ports = { ${httpPort} }
http_interfaces = { "127.0.0.1" }
https_ports = { }
log = { error = "${join(folder, "error.log")}" }
VirtualHost "localhost"
disco_items = { { "upload.localhost" }, { "rooms.localhost" } }
Component "rooms.localhost" "muc"
modules_enabled = { "muc_mam" }
muc_room_default_persistent = true
muc_room_default_public_jids = true
muc_room_locking = false
Component "upload.localhost" "http_file_share"
http_host = "127.0.0.1"
http_external_url = "http://127.0.0.1:${httpPort}/"
`;
}

export class Prosody {
  readonly port: number;
  /** Of the upload service. */
  readonly httpPort: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(port: number, httpPort: number) {
    this.port = port;
    this.httpPort = httpPort;
    this.#folder = mkdtempSync(join(tmpdir(), "pagurus-prosody-"));
  }

  /** With an account for each name, on the domain `localhost`; each has its name as password. */
  static async start(names: readonly string[]): Promise<Prosody> {
    if (missingProsody().length > 0)
      throw new Error("The tests of channels need prosody: run `npm run setup:servers`.");
    const server = new Prosody(await freePort(), await freePort());
    for (const name of ["data", "certs"]) mkdirSync(join(server.#folder, name));
    writeFileSync(server.#config, configOf(server.#folder, server.port, server.httpPort));
    for (const name of names)
      execFileSync(PROSODYCTL, ["--root", "--config", server.#config, "register", name, "localhost", name], {
        stdio: "pipe",
      });
    await server.begin();
    return server;
  }

  get #config(): string {
    return join(this.#folder, "prosody.cfg.lua");
  }

  get service(): string {
    return `xmpp://127.0.0.1:${this.port}`;
  }

  async begin(): Promise<void> {
    this.#child = spawn(PROSODY, ["--root", "-F", "--config", this.#config], { stdio: "ignore" });
    for (let tries = 0; tries < TRIES; tries += 1) {
      const socket = connect(this.port, "127.0.0.1");
      const isOpen = await Promise.race([
        once(socket, "connect").then(() => true),
        once(socket, "error").then(
          () => false,
          () => false,
        ),
      ]).catch(() => false);
      socket.destroy();
      if (isOpen) return;
      await pause(50);
    }
    throw new Error("prosody does not listen");
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

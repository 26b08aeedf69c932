/** A throw-away IRC server: Debian's ngircd on a loopback port. It keeps nothing and knows no accounts. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../server/serve-setting.ts";
import { CERTIFICATE, PRIVATE_KEY } from "./certificate.ts";

const NGIRCD = "/usr/sbin/ngircd";
const TRIES = 1_200;

/** Debian packages that are not installed. */
export function missingNgircd(): string[] {
  return existsSync(NGIRCD) ? [] : ["ngircd"];
}

function configOf(
  folder: string,
  { port, tlsPort }: { port: number; tlsPort: number },
  password: string,
): string {
  return `
[Global]
Name = irc.example.test
Info = test
AdminInfo1 = test
AdminEMail = test@example.test
Listen = 127.0.0.1
Ports = ${port}
MotdPhrase = "A test."
Password = ${password}
ServerUID = nobody
ServerGID = nogroup
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 20
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
SyslogFacility = local1
[SSL]
CertFile = ${join(folder, "cert.pem")}
KeyFile = ${join(folder, "key.pem")}
Ports = ${tlsPort}
`;
}

export class Ngircd {
  static readonly password = "harbour";
  readonly port: number;
  readonly tlsPort: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(port: number, tlsPort: number) {
    this.port = port;
    this.tlsPort = tlsPort;
    this.#folder = mkdtempSync(join(tmpdir(), "pagurus-ngircd-"));
  }

  static async start(): Promise<Ngircd> {
    if (missingNgircd().length > 0)
      throw new Error("The tests of channels need ngircd: run `npm run setup:servers`.");
    const server = new Ngircd(await freePort(), await freePort());
    writeFileSync(join(server.#folder, "cert.pem"), CERTIFICATE);
    writeFileSync(join(server.#folder, "key.pem"), PRIVATE_KEY);
    writeFileSync(server.#config, configOf(server.#folder, server, Ngircd.password));
    await server.begin();
    return server;
  }

  get #config(): string {
    return join(this.#folder, "ngircd.conf");
  }

  get service(): string {
    return `irc://127.0.0.1:${this.port}`;
  }

  get tlsService(): string {
    return `ircs://localhost:${this.tlsPort}`;
  }

  async begin(): Promise<void> {
    this.#child = spawn(NGIRCD, ["--nodaemon", "--config", this.#config], { stdio: "ignore" });
    for (let tries = 0; tries < TRIES; tries += 1) {
      const socket = connect(this.port, "127.0.0.1");
      const isOpen = await once(socket, "connect").then(
        () => true,
        () => false,
      );
      socket.destroy();
      if (isOpen) return;
      await pause(50);
    }
    throw new Error("ngircd does not listen");
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

/**
 * A throw-away mail server: Debian's postfix and dovecot on loopback ports, with configuration and mail in a folder of their own. Mail to
 * `localhost` is delivered to accounts whose password is their name. What is sent to the inner port has a proven sender; at the outer
 * port, where anyone is anyone, the proof fails. The bare port checks nothing and adds nothing, as where a checker is down.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { freePort } from "../server/serve-setting.ts";
import { CERTIFICATE, PRIVATE_KEY } from "./certificate.ts";

const MASTER = "/usr/lib/postfix/sbin/master";
const DOVECOT = "/usr/sbin/dovecot";
const TRIES = 1_200;
/** Name in the Authentication-Results of the server. */
export const AUTHSERV = "mx.localhost";

/** Debian packages that are not installed. */
export function missingMailServers(): string[] {
  return [
    ...(existsSync(MASTER) ? [] : ["postfix"]),
    ...(existsSync("/usr/lib/dovecot/imap") ? [] : ["dovecot-imapd"]),
    ...(existsSync("/usr/lib/dovecot/lmtp") ? [] : ["dovecot-lmtpd"]),
  ];
}

interface Ports {
  imap: number;
  imaps: number;
  lmtp: number;
  inner: number;
  outer: number;
  bare: number;
}

interface MailOptions {
  /** Deliver one mail after the other, in the order in which they came; else several at once. */
  inOrder?: boolean;
  /** Largest mail that the server takes, bytes. */
  mostBytes?: number;
}

function mainCf(
  folder: string,
  { lmtp }: Ports,
  { inOrder = false, mostBytes = 100_000_000 }: MailOptions,
): string {
  return `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = ${folder}/log/mail.log
maillog_file_prefixes = ${folder}/log
myhostname = localhost
mydomain = localhost
mydestination = localhost
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
local_recipient_maps =
alias_maps =
lmtp_destination_concurrency_limit = ${inOrder ? 1 : 20}
local_transport = lmtp:inet:127.0.0.1:${lmtp}
default_transport = error:no mail leaves this machine
relay_domains =
message_size_limit = ${mostBytes}
mailbox_size_limit = 0
smtpd_client_connection_rate_limit = 0
minimal_backoff_time = 1s
maximal_backoff_time = 1s
queue_run_delay = 1s
transport_retry_time = 1s
smtpd_tls_security_level = may
smtpd_tls_cert_file = ${folder}/cert.pem
smtpd_tls_key_file = ${folder}/key.pem
smtpd_relay_restrictions = permit_mynetworks, reject
`;
}

function masterCf(folder: string, { inner, outer, bare }: Ports): string {
  const smtpd = (port: number, table: string): string =>
    `127.0.0.1:${port} inet n - n - - smtpd -o smtpd_sender_restrictions=check_sender_access,regexp:${folder}/${table}`;
  const open = new Set(["cleanup", "qmgr", "flush"]);
  const unix = (name: string, wake: string, most: string, program = name): string =>
    `${name} unix ${open.has(name) ? "n" : "-"} - n ${wake} ${most} ${program}`;
  return [
    smtpd(inner, "proven"),
    smtpd(outer, "unproven"),
    `127.0.0.1:${bare} inet n - n - - smtpd`,
    unix("cleanup", "-", "0"),
    unix("qmgr", "300", "1"),
    unix("tlsmgr", "1000?", "1"),
    unix("rewrite", "-", "-", "trivial-rewrite"),
    unix("bounce", "-", "0"),
    unix("defer", "-", "0", "bounce"),
    unix("trace", "-", "0", "bounce"),
    unix("verify", "-", "1"),
    unix("flush", "1000?", "0"),
    unix("proxymap", "-", "-"),
    unix("lmtp", "-", "-"),
    unix("error", "-", "-"),
    unix("retry", "-", "-", "error"),
    unix("anvil", "-", "1"),
    unix("scache", "-", "1"),
    "postlog unix-dgram n - n - 1 postlogd",
    "",
  ].join("\n");
}

function dovecotConf(folder: string, { imap, imaps, lmtp }: Ports): string {
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/log/dovecot.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = yes
ssl_cert = <${folder}/cert.pem
ssl_key = <${folder}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_username_format = %Ln
mail_location = maildir:${folder}/mail/%n
mail_max_userip_connections = 100
first_valid_uid = 1
first_valid_gid = 1
passdb {
  driver = passwd-file
  args = ${folder}/users
}
userdb {
  driver = static
  args = uid=postfix gid=postfix home=${folder}/mail/%n
}
namespace inbox {
  inbox = yes
  mailbox Sent {
    special_use = \\Sent
    auto = create
  }
}
service imap-login {
  inet_listener imap {
    port = ${imap}
  }
  inet_listener imaps {
    port = ${imaps}
    ssl = yes
  }
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${lmtp}
  }
}
`;
}

/** Adds what a server that checks senders adds. */
function verdict(result: string): string {
  return `/^(.*)$/ PREPEND Authentication-Results: ${AUTHSERV}; spf=${result} smtp.mailfrom=$1\n`;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isOpen = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

export class MailServers {
  readonly #folder: string;
  readonly #ports: Ports;
  #dovecot: ChildProcess | undefined;

  private constructor(ports: Ports) {
    this.#ports = ports;
    // The private temporary folder of a test run is closed to the servers' own users.
    this.#folder = mkdtempSync("/tmp/pagurus-mail-");
  }

  /** With an account for each name. */
  static async start(names: readonly string[], options: MailOptions = {}): Promise<MailServers> {
    const missing = missingMailServers();
    if (missing.length > 0)
      throw new Error(`The tests of e-mail need ${missing.join(", ")}: run \`npm run setup:servers\`.`);
    const ports: Ports = { imap: 0, imaps: 0, lmtp: 0, inner: 0, outer: 0, bare: 0 };
    for (const name of Object.keys(ports) as (keyof Ports)[]) ports[name] = await freePort();
    const servers = new MailServers(ports);
    try {
      servers.#write(names, options);
      await servers.begin();
      return servers;
    } catch (error) {
      await servers.#abandon();
      throw error;
    }
  }

  #write(names: readonly string[], options: MailOptions): void {
    const folder = this.#folder;
    // The servers run as users of their own.
    chmodSync(folder, 0o755);
    for (const name of ["postfix", "queue", "queue/pid", "data", "run", "state", "log", "mail"])
      mkdirSync(join(folder, name));
    for (const name of ["data", "mail", "log"]) chmodSync(join(folder, name), 0o777);
    const files: Record<string, string> = {
      "postfix/main.cf": mainCf(folder, this.#ports, options),
      "postfix/master.cf": masterCf(folder, this.#ports),
      "dovecot.conf": dovecotConf(folder, this.#ports),
      users: names.map((name) => `${name}:{PLAIN}${name}\n`).join(""),
      proven: verdict("pass"),
      unproven: verdict("fail"),
      "cert.pem": CERTIFICATE,
      "key.pem": PRIVATE_KEY,
    };
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, name), text, { mode: 0o644 });
    // Makes the folders of the queue.
    execFileSync("/usr/sbin/postfix", ["-c", join(folder, "postfix"), "check"], { stdio: "pipe" });
  }

  get imap(): string {
    return `imap://127.0.0.1:${this.#ports.imap}`;
  }

  get imaps(): string {
    return `imaps://localhost:${this.#ports.imaps}`;
  }

  get smtp(): string {
    return `smtp://127.0.0.1:${this.#ports.inner}`;
  }

  /** Path of the certificate, which also signs itself. */
  get certificate(): string {
    return join(this.#folder, "cert.pem");
  }

  /** Lets this process trust the certificate. */
  trust(): void {
    setDefaultCACertificates([...getCACertificates(), CERTIFICATE]);
  }

  /** Ports of the servers: `inner`, `outer` and `bare` take mail. */
  get ports(): Readonly<Ports> {
    return this.#ports;
  }

  /** What the servers logged. */
  get log(): string {
    return ["mail.log", "dovecot.log"]
      .map((name) => join(this.#folder, "log", name))
      .map((path) => (existsSync(path) ? readFileSync(path, "utf8") : ""))
      .join("\n");
  }

  /**
   * In how many transactions the server took each mail, by its Message-ID. It delivers one mail a second time where it is ended between
   * the delivery and the note of it, so an inbox alone does not show who repeated a mail. It notes the Message-ID before it has the whole
   * mail: only what came into its queue was taken.
   */
  get taken(): Map<string, number> {
    const { log } = this;
    const queued = new Set(
      Array.from(
        log.matchAll(/ ([0-9A-Za-z]+): from=<.*\(queue active\)$/gm),
        ([, transaction]) => transaction,
      ),
    );
    const ids = new Map<string, Set<string>>();
    for (const [, transaction = "", id = ""] of log.matchAll(/ ([0-9A-Za-z]+): message-id=(<.*>)$/gm))
      if (queued.has(transaction)) ids.set(id, (ids.get(id) ?? new Set()).add(transaction));
    return new Map([...ids].map(([id, transactions]) => [id, transactions.size]));
  }

  /** Waits until every mail that was taken is in the inbox of its reader. */
  async settled(): Promise<void> {
    const queues = ["maildrop", "incoming", "active", "deferred"].map((name) =>
      join(this.#folder, "queue", name),
    );
    const isWaiting = (queue: string): boolean =>
      readdirSync(queue, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());
    while (queues.some(isWaiting)) await pause(20);
  }

  async begin(): Promise<void> {
    const folder = this.#folder;
    this.#dovecot = spawn(DOVECOT, ["-F", "-c", join(folder, "dovecot.conf")], { stdio: "ignore" });
    // It leaves its parent's group; the file of its pid is how it is ended.
    spawn(MASTER, ["-c", join(folder, "postfix"), "-w"], { stdio: "ignore" });
    for (const port of Object.values(this.#ports)) {
      for (let tries = 0; !(await isListening(port)); tries += 1) {
        if (tries === TRIES) throw new Error(`the mail servers do not listen: ${this.log}`);
        await pause(50);
      }
    }
  }

  /** Ends both servers in order, and waits until none of their ports is open. */
  async kill(): Promise<void> {
    const dovecot = this.#dovecot;
    if (!dovecot) return;
    this.#dovecot = undefined;
    const ended = once(dovecot, "exit");
    dovecot.kill("SIGTERM");
    process.kill(Number(readFileSync(join(this.#folder, "queue/pid/master.pid"), "utf8").trim()), "SIGTERM");
    await ended;
    for (const port of Object.values(this.#ports)) while (await isListening(port)) await pause(20);
  }

  /** Ends what has started, so that a failed start ends the test. */
  async #abandon(): Promise<void> {
    const pidFile = join(this.#folder, "queue/pid/master.pid");
    this.#dovecot?.kill("SIGTERM");
    if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, "utf8").trim()), "SIGTERM");
    if (this.#dovecot && this.#dovecot.exitCode === null) await once(this.#dovecot, "exit");
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** The part of `KEY_NOTES` about MCP servers and channels. */

/** Meaning and default, as Markdown. */
export type KeyNote = readonly [meaning: string, fallback?: string];

export const CONNECTION_NOTES: Readonly<Record<string, KeyNote>> = {
  "mcp.servers.<>.command": ["program to start"],
  "mcp.servers.<>.args": ["arguments of the program"],
  "mcp.servers.<>.env": ["variables of the program besides `PATH`, `HOME` and the like"],
  "mcp.servers.<>.cwd": [
    "folder that it starts in; a relative one begins at `~/.pagurus`",
    "where Pagurus runs",
  ],
  "mcp.servers.<>.workingDirectory": ["the same as `cwd`"],
  "mcp.servers.<>.url": ["address of a server that runs already"],
  "mcp.servers.<>.headers": ["headers that are sent with each request"],
  "mcp.servers.<>.oauth": [
    "settings of `pagurus mcp login`; `false`: no login",
    "as the server describes it",
  ],
  "mcp.servers.<>.oauth.clientId": ["id of a client that was registered before", "one is registered"],
  "mcp.servers.<>.oauth.clientSecret": ["its secret, as `${NAME}`"],
  "mcp.servers.<>.oauth.scope": [
    "permissions to ask for besides those that the server names, separated by spaces",
  ],
  "mcp.servers.<>.oauth.grant": [
    "`authorization_code`: a person agrees in a browser; `client_credentials`: the client's own secret or key",
    "`authorization_code`",
  ],
  "mcp.servers.<>.oauth.issuer": ["the authorization server of the client; another one gets nothing"],
  "mcp.servers.<>.oauth.clientMetadataUrl": ["https address of the client's metadata, used as its id"],
  "mcp.servers.<>.oauth.callbackPort": ["port on 127.0.0.1 that the browser returns to", "any"],
  "mcp.servers.<>.oauth.privateKey.file": ["PEM file of the client's key, instead of a secret"],
  "mcp.servers.<>.oauth.algorithm": ["algorithm of that key", "`ES256`"],
  "mcp.servers.<>.type": [
    "`stdio`; `http` or `streamable-http`; `sse`, the older transport",
    "as `command`, `url` say",
  ],
  "mcp.servers.<>.transport": ["the same as `type`"],
  "mcp.servers.<>.enabled": ["whether its tools are offered", "`true`"],
  "mcp.servers.<>.disabled": ["`true`: the same as `enabled: false`, which it overrides", "`false`"],
  "mcp.servers.<>.timeoutMs": [
    "timeout of a call without an answer or progress; the first key that is set",
    "120000",
  ],
  "mcp.servers.<>.requestTimeoutMs": ["the same as `timeoutMs`, where that is absent"],
  "mcp.servers.<>.timeout": ["the same as `timeoutMs`, where the others are absent"],
  "mcp.servers.<>.longestCallMs": [
    "timeout of a call that keeps reporting progress; at least `timeoutMs`",
    "ten times `timeoutMs`",
  ],
  "mcp.servers.<>.connectTimeoutMs": ["timeout of a start", "60000"],
  "mcp.servers.<>.connectionTimeoutMs": ["the same as `connectTimeoutMs`, where that is absent"],
  "mcp.servers.<>.permission": [
    "`ask`: as the permission mode decides; `allow`: its tools run without a question, as with an `allow` rule for each",
    "`ask`",
  ],
  "mcp.servers.<>.tools.allow": ["names of its tools, `*` matches any characters; `deny` wins", "all"],
  "mcp.servers.<>.tools.deny": ["names of its tools, `*` matches any characters; `deny` wins", "all"],
  "channels.<>.kind": [
    "the kind of service: `xmpp`, `email`, `irc`, `webhook`, `telegram`, `slack`, `discord`, `github`, or one that a plugin adds",
  ],
  "channels.<>.enabled": ["whether `pagurus serve` connects it", "true"],
  "channels.<>.agent": ["agent that answers", "`main`"],
  "channels.<>.session": ["one session for all direct messages", "one for each person"],
  "channels.<>.scope": [
    "in a group: one session for it (`group`), or one for each person of it (`peer`)",
    "`group`",
  ],
  "channels.<>.groups.<>.answer": [
    "which messages of the group are answered: `mention`, `always`",
    "`mention`",
  ],
  "channels.<>.groups.<>.from": [
    "whose messages are answered: `known` (people who may speak), `all` (every member)",
    "`known`",
  ],
  "channels.<>.groups.<>.session": ["session of the group", "one of its own"],
  "channels.<>.workspace": ["folder of the turns", "where the server was started"],
  "channels.<>.permission": ["permission mode of the turns", "`deny`"],
  "channels.<>.allow": ["addresses that may speak without a code"],
  "channels.<>.jid": ["XMPP: address of the account, such as `crab@example.org`"],
  "channels.<>.nick": ["name in groups, to speak to it; IRC: needed", "XMPP: as the address begins"],
  "channels.<>.password": ["a password, or `${VARIABLE}`"],
  "channels.<>.service": [
    "XMPP: `xmpp://host:port` or `xmpps://host:port`; IRC: `ircs://host:port`, or `irc://` where no password is sent",
    "XMPP: the address's domain",
  ],
  "channels.<>.token": ["Telegram, Slack, Discord, GitHub: token of the bot, or `${VARIABLE}`"],
  "channels.<>.secret": ["webhooks, Slack, GitHub: what signs requests, or `${VARIABLE}`; GitHub: optional"],
  "channels.<>.url": ["webhooks: where answers are sent; kinds with a token: another server", "none"],
  "channels.<>.account": ["IRC: account to log in to (SASL), with `password`"],
  "channels.<>.serverPassword": ["IRC: password of the server, or `${VARIABLE}`"],
  "channels.<>.join": ["IRC: channels to join"],
  "channels.<>.linesPerSecond": ["IRC: lines sent in a second, after the first five", "0.5"],
  "channels.<>.pollSeconds": ["GitHub: seconds between two looks for what its webhook did not bring", "60"],
  "channels.<>.settings": ["settings of a plugin's kind; `${VARIABLE}` is replaced in every text"],
  "channels.<>.address": ["e-mail: address of the account, such as `crab@example.org`"],
  "channels.<>.user": ["e-mail: name of the login", "the address"],
  "channels.<>.imap": ["e-mail: `imaps://host:port`, or `imap://host:port` with STARTTLS"],
  "channels.<>.smtp": ["e-mail: `smtps://host:port`, or `smtp://host:port` with STARTTLS"],
  "channels.<>.authserv": ["e-mail: name that the receiving server writes in `Authentication-Results`"],
  "channels.<>.authservHops": [
    "e-mail: `Received` fields above the results of `authserv`, LMTP not counted; `pagurus channels test` says which number fits",
    "0",
  ],
  "channels.<>.unverified": [
    "e-mail whose sender the server has not verified: `drop`, `stranger` (an address `unverified:…` of its own) or `trust`",
    "`drop`",
  ],
  "channels.<>.maxBytes": ["e-mail: largest mail that is read, bytes", "10,485,760"],
  "channels.<>.answersPerHour": [
    "answers in one thread and hour, and half of those to one person; more are taken for a loop",
    "30",
  ],
  "channels.<>.waitingPerPerson": [
    "messages of one person that may wait for their answers; further ones are not accepted",
    "100",
  ],
  "channels.<>.waitingPerSession": ["messages that may wait for their answers in one session", "300"],
  "channels.<>.lookupSeconds": [
    "e-mail: seconds in which the copy of a mail is looked for, after a crash, before it is sent again",
    "30",
  ],
};

/** Who may speak in a channel of OpenClaw, as `allow` and `groups` here. What would let in more people than there is not taken. */
import type { ChannelConfig, ChannelGroupConfig } from "@pagurus/core/config/config-types";
import type { TheirChannel } from "./their-channel.ts";

const EVERYONE = "*";
const NO_SETTING = "a group has no such setting here";

/** What differs between the services. */
export interface AccessNames {
  /** Their key with the groups. */
  groups: "groups" | "channels";
  /** Their key with the people of one group. */
  people: "allowFrom" | "users";
  /** The address here; undefined for an entry that is none, such as a name that anyone can take. */
  person(entry: string): string | undefined;
  group(entry: string): string | undefined;
  /** What an entry has to be. */
  personForm: string;
  groupForm: string;
  /** Why every message of a group cannot be answered; absent where it can. */
  mentionsOnly?: string;
}

type Access = Pick<ChannelConfig, "enabled" | "allow" | "groups">;

/** `groupPolicy`: that of `channels.defaults`. */
export function accessOf(theirs: TheirChannel, names: AccessNames, groupPolicy: unknown): Access {
  const direct = theirs.inner("dm");
  const entries = theirs.list("allowFrom") ?? direct?.list("allowFrom") ?? [];
  const allow = peopleOf(entries, names, theirs, "allowFrom");
  const policy = theirs.text("dmPolicy") ?? direct?.text("policy") ?? "pairing";
  if (policy === "open" || entries.includes(EVERYONE))
    theirs.becomes("dmPolicy", "pairing codes: a stranger speaks once the owner has approved them");
  else if (policy === "allowlist")
    theirs.becomes("dmPolicy", "pairing codes: a stranger gets one, and nothing else unless you approve it");
  const isOff = policy === "disabled" || direct?.take("enabled") === false;
  if (isOff)
    theirs.becomes("dmPolicy", "enabled: false, since direct messages cannot be switched off alone here");
  direct?.leaveRest("direct messages have no such setting here");
  const groups = groupsOf(theirs, names, { allow, entries, policy: groupPolicy });
  return {
    ...(isOff && { enabled: false }),
    ...(allow.length > 0 && { allow }),
    ...(Object.keys(groups).length > 0 && { groups }),
  };
}

/** Reports entries that are no addresses here. */
function peopleOf(
  entries: readonly string[],
  { person, personForm }: AccessNames,
  theirs: TheirChannel,
  key: string,
): string[] {
  const people = entries.map((entry) => (entry === EVERYONE ? undefined : person(entry)));
  const lost = entries.filter((entry, at) => entry !== EVERYONE && people[at] === undefined);
  if (lost.length > 0) theirs.becomes(key, `only entries that are ${personForm}, without ${lost.join(", ")}`);
  return [...new Set(people.filter((each) => each !== undefined))];
}

interface Direct {
  allow: readonly string[];
  entries: readonly string[];
  policy: unknown;
}

function groupsOf(
  theirs: TheirChannel,
  names: AccessNames,
  { allow, entries, policy: usual }: Direct,
): Record<string, ChannelGroupConfig> {
  const listed = theirs.inner(names.groups);
  const policy = theirs.take("groupPolicy") ?? usual ?? "allowlist";
  const members = theirs.list("groupAllowFrom") ?? entries;
  const groups: Record<string, ChannelGroupConfig> = {};
  if (policy === "open" && !listed) theirs.leave("groupPolicy", "groups are listed one by one here");
  if (!listed) return groups;
  if (policy === "disabled") {
    listed.leaveAll("groups are switched off there");
    return groups;
  }
  const mention = listed.inner(EVERYONE)?.take("requireMention");
  listed.leave(EVERYONE, "groups are listed one by one here");
  for (const key of listed.keys()) {
    if (key === EVERYONE) continue;
    const id = names.group(key);
    const group = listed.inner(key);
    if (id === undefined || !group) {
      listed.leave(key, `a group is ${names.groupForm} here`);
      continue;
    }
    const taken = groupAccess(group, names, { allow, members, policy, mention });
    if (taken) groups[id] = taken;
  }
  return groups;
}

interface Surroundings {
  allow: readonly string[];
  members: readonly string[];
  policy: unknown;
  mention: unknown;
}

/** Undefined, with a report, for a group in which more people could speak here. */
function groupAccess(
  group: TheirChannel,
  names: AccessNames,
  { allow, members, policy, mention }: Surroundings,
): ChannelGroupConfig | undefined {
  const own = group.take("groupPolicy") ?? policy;
  if (group.take("enabled") === false || own === "disabled") {
    group.leaveAll("it is switched off there");
    return undefined;
  }
  const listed = group.list(names.people) ?? members;
  const isForAll = own === "open" || listed.includes(EVERYONE);
  const people = isForAll ? [] : peopleOf(listed, names, group, names.people);
  if (!isForAll && allow.some((person) => !people.includes(person))) {
    group.leaveAll(
      "people of allowFrom may not speak in it there, and who may speak here may in every group",
    );
    return undefined;
  }
  const others = people.filter((person) => !allow.includes(person));
  if (others.length > 0)
    group.becomes(
      names.people,
      `people of allow; who may speak in a group may write directly here, so add ${others.join(", ")} to allow yourself`,
    );
  const isAlways = (group.take("requireMention") ?? mention) === false;
  if (isAlways && names.mentionsOnly !== undefined) group.becomes("requireMention", names.mentionsOnly);
  group.leave("topics", "a topic has a session of its own here, and the settings of its group");
  group.leaveRest(NO_SETTING);
  return {
    ...(isAlways && names.mentionsOnly === undefined && { answer: "always" }),
    ...(isForAll && { from: "all" }),
  };
}

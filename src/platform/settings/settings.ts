/**
 * Every setting of the service, once: the parser, `--help`, `docs/configuration.md` and the
 * refusal of unknown names come from this table. A setting is an environment variable, and a flag
 * of `svc serve` with the same name in lower case (`SVC_LISTEN`, `--listen`).
 */
import { ciIssuers } from './ci-issuers.ts';
import {
  choice,
  choices,
  copies,
  hostNames,
  hostsAndRanges,
  integer,
  issuer,
  type Kind,
  label,
  labels,
  listenAddress,
  listenAddressOrOff,
  mailServer,
  nat64Prefixes,
  natsServers,
  onOff,
  origin,
  origins,
  path,
  ports,
  proxyRanges,
  sender,
  text,
  webProxy,
} from './setting-kinds.ts';

/**
 * One setting. `T` is the type of the value in the program: the kind's value, or null if it has
 * none.
 */
export interface Setting<T> {
  /** Name of the environment variable. */
  readonly name: `SVC_${string}`;
  readonly kind: Kind<unknown>;
  readonly unit?: string;
  /** Text that the value is read from if the setting is absent; without it the value is null. */
  readonly default?: string;
  /** The default in words, if it depends on something else. */
  readonly defaultInWords?: string;
  /** Its purpose, in one or two sentences. */
  readonly help: string;
  /** true: its value is never shown in a message, and a login in it is refused as a flag. */
  readonly secret?: boolean;
  /** The place for its login, for that refusal. */
  readonly loginGoesTo?: string;
  readonly parse: (text: string) => T;
}

interface Described {
  readonly unit?: string;
  readonly defaultInWords?: string;
  readonly help: string;
  readonly secret?: boolean;
  readonly loginGoesTo?: string;
}

/** A setting that always has a value. */
function setting<T>(
  name: `SVC_${string}`,
  kind: Kind<T>,
  defaultText: string,
  described: Described,
): Setting<T> {
  return { name, kind, default: defaultText, parse: kind.parse, ...described };
}

/** A setting that may have no value, which is null. */
function optional<T>(
  name: `SVC_${string}`,
  kind: Kind<T>,
  described: Described,
): Setting<T | null> {
  return { name, kind, parse: kind.parse, ...described };
}

export const settingsTable = {
  listen: setting('SVC_LISTEN', listenAddress, '127.0.0.1:8080', {
    help: 'Address on which the API listens. Port 0 means any free port. An address beyond loopback needs a certificate or a trusted proxy.',
  }),
  publicUrl: optional('SVC_PUBLIC_URL', origin, {
    defaultInWords: 'made from SVC_LISTEN',
    help: 'Address under which clients reach the API: written to demo.json and into links in notifications.',
  }),
  tlsCertFile: optional('SVC_TLS_CERT_FILE', path, {
    help: 'Certificate chain in PEM form; needs SVC_TLS_KEY_FILE. Both files are read again on SIGHUP.',
  }),
  tlsKeyFile: optional('SVC_TLS_KEY_FILE', path, {
    help: 'Private key of the certificate, in PEM form without a passphrase.',
  }),
  trustedProxy: optional('SVC_TRUSTED_PROXY', proxyRanges, {
    help: 'Addresses of the proxy that terminates TLS in front of the API. The service trusts its X-Forwarded-For and X-Forwarded-Proto, and may listen beyond loopback without a certificate. Except for health probes, it then answers only the proxy and this machine.',
  }),
  allowedHosts: optional('SVC_ALLOWED_HOSTS', hostNames, {
    help: 'Further host names of the service, as clients send them in the Host header. The host of SVC_PUBLIC_URL, localhost and every IP address are always accepted. Any other Host is refused with 421, which protects against DNS rebinding.',
  }),
  connectionsPerAddress: setting('SVC_CONNECTIONS_PER_ADDRESS', integer(8, 10_000), '256', {
    unit: 'connections',
    help: 'How many connections one address (IPv6: one network of 64 bits) may hold open at a time. Connections of SVC_TRUSTED_PROXY do not count, because many people share them.',
  }),
  metricsListen: setting('SVC_METRICS_LISTEN', listenAddressOrOff, '127.0.0.1:9464', {
    help: "Address of the listener for the service's own metrics and the full reasons of /readyz, without a credential. Loopback only. When the default port is taken, the service logs a warning and starts without this listener.",
  }),
  metricsOnApi: setting('SVC_METRICS_ON_API', onOff, 'off', {
    help: 'Whether the API also shows these metrics at /metrics, to every credential that may read any project. The figures cover the whole service, so switch it on only where one owner has all projects.',
  }),
  data: setting('SVC_DATA', path, './data', {
    help: 'Folder of the databases, the master key and demo.json. Created when missing. Only one process may use it at a time.',
  }),
  diskReserve: setting('SVC_DISK_RESERVE', integer(64, 1_048_576), '512', {
    unit: 'MiB',
    help: 'Free space on the disk of SVC_DATA that changes by people and keys may not use up. Below it, the projects that changed most today are refused first; below half of it, all of them. The rest is kept for revocations, acknowledgements, evaluation, deliveries and operators.',
  }),
  historyData: optional('SVC_HISTORY_DATA', path, {
    defaultInWords: 'SVC_DATA',
    help: 'Folder of history.db, for example on a disk of its own. Created when missing. Stop the service and move history.db there before you change it: docs/operations/sizing.md.',
  }),
  retentionDays: setting('SVC_RETENTION_DAYS', integer(7, 90), '7', {
    unit: 'days',
    help: 'How long samples of all projects are kept and can be queried. Each further day takes as much disk as each of the first seven. Rows older than seven days are refused whatever the value.',
  }),
  headMib: setting('SVC_HEAD_MIB', integer(64, 8192), '1024', {
    unit: 'MiB',
    help: 'Memory for the rows of the last hour, which all projects share. 10,000 VMs with 13 series every 30 s take 165 MiB. When it is used up, new rows are stored in the log and cannot be queried until there is room.',
  }),
  flushMinutes: setting('SVC_FLUSH_MINUTES', integer(5, 60), '60', {
    unit: 'minutes',
    help: 'Age at which the rows of a VM move from memory to history.db. A shorter time needs less of SVC_HEAD_MIB, and more writes.',
  }),
  auditSink: optional('SVC_AUDIT_SINK', path, {
    defaultInWords: 'none',
    help: 'File to which the audit history is exported as it grows, one JSON line for each commit, for example on another disk or for a log shipper. Rename the file to rotate it.',
  }),
  auditSinkRequired: setting('SVC_AUDIT_SINK_REQUIRED', onOff, 'off', {
    help: 'Whether changes by people and keys are refused while SVC_AUDIT_SINK cannot be written. Monitoring, alerts and reads continue.',
  }),
  masterKeyFile: optional('SVC_MASTER_KEY_FILE', path, {
    defaultInWords: 'master.key in SVC_DATA, made at first start',
    help: 'Key that encrypts webhook secrets: 32 bytes in base64. Keep it outside the data folder and its backups; without it the secrets are lost.',
  }),
  natsUrl: optional('SVC_NATS_URL', natsServers, {
    defaultInWords: 'none: the stream is embedded',
    secret: true,
    loginGoesTo: 'SVC_NATS_USER and SVC_NATS_PASSWORD_FILE, or SVC_NATS_TOKEN_FILE',
    help: 'NATS servers with JetStream (2.10.27 or newer) to use as the stream. Processes that share them and the master key are members of one cluster. With tls:// every byte is encrypted. The login may be in the address, or in one of the files below.',
  }),
  natsUser: optional('SVC_NATS_USER', text, {
    help: 'NATS user name; needs SVC_NATS_PASSWORD_FILE.',
  }),
  natsPasswordFile: optional('SVC_NATS_PASSWORD_FILE', path, {
    help: 'File with the password of SVC_NATS_USER. The login files are read again at each connection.',
  }),
  natsTokenFile: optional('SVC_NATS_TOKEN_FILE', path, {
    help: 'File with the NATS token.',
  }),
  natsNkeyFile: optional('SVC_NATS_NKEY_FILE', path, {
    help: 'File with the seed of a user’s nkey (SU…).',
  }),
  natsCredentialsFile: optional('SVC_NATS_CREDENTIALS_FILE', path, {
    help: 'Credentials file (.creds): a user’s JWT and the seed of its nkey.',
  }),
  natsCaFile: optional('SVC_NATS_CA_FILE', path, {
    defaultInWords: 'the authorities that Node.js knows',
    help: 'Certificate authorities, in PEM form, that sign the certificates of the NATS servers. With it every byte is encrypted.',
  }),
  natsCertFile: optional('SVC_NATS_CERT_FILE', path, {
    help: 'Client certificate in PEM form, for NATS servers that require one; needs SVC_NATS_KEY_FILE.',
  }),
  natsKeyFile: optional('SVC_NATS_KEY_FILE', path, {
    help: 'Private key of SVC_NATS_CERT_FILE, in PEM form without a passphrase.',
  }),
  streamReplicas: optional('SVC_STREAM_REPLICAS', copies, {
    defaultInWords: '3 if the NATS server is in a cluster, else 1',
    help: 'Copies of each stream in the NATS cluster, for streams created from now on. With fewer copies than this the service is degraded; "svc admin streams --replicas" changes those of existing streams.',
  }),
  natsMonitorUrl: optional('SVC_NATS_MONITOR_URL', origins, {
    help: 'Monitoring addresses of the NATS servers, such as http://10.0.0.1:8222. With them, /readyz names a server whose disk is full or whose sync_interval is not always.',
  }),
  roles: setting('SVC_ROLES', choices('all', 'deliver', 'none'), 'all', {
    help: 'Roles of this process besides those that every process has. deliver: it sends notifications. Use none for a member that may not reach their endpoints; other members then send them. A single process needs all.',
  }),
  datacenter: setting('SVC_DATACENTER', label, 'DC-1', {
    help: 'Name of the data center of the machines that this process monitors.',
  }),
  demo: optional('SVC_DEMO', onOff, {
    defaultInWords: 'on with the embedded stream, off with SVC_NATS_URL',
    help: 'Create the project demo and demo.json at first start, and monitor this host and its libvirt domains there.',
  }),
  collect: optional('SVC_COLLECT', choices('host', 'libvirt', 'none'), {
    defaultInWords: 'host on Linux, and libvirt where virsh answers; none without the demo project',
    help: 'Sources to collect from: this host (/proc), its libvirt domains, or none.',
  }),
  collectMap: optional('SVC_COLLECT_MAP', path, {
    help: 'File that maps libvirts to projects (docs/operations/collect.md). This process collects from them, with or without the demo project. The file is read again when it changes.',
  }),
  sampleIntervalSeconds: setting('SVC_SAMPLE_INTERVAL_SECONDS', integer(1, 30), '30', {
    unit: 'seconds',
    help: 'Time between two readings of a machine. Readings more than 90 seconds apart are always a gap; no rate or duration is computed across a gap.',
  }),
  libvirtUri: setting('SVC_LIBVIRT_URI', text, 'qemu:///system', {
    help: 'URI of the hypervisor that virsh connects to.',
  }),
  libvirtFilesystems: setting('SVC_LIBVIRT_FILESYSTEMS', onOff, 'off', {
    help: "Read filesystem usage through the guests' agents. It needs a read-write connection to libvirt, but changes nothing.",
  }),
  webhookAllow: optional('SVC_WEBHOOK_ALLOW', hostsAndRanges, {
    help: 'Hosts and ranges that webhooks and chats may reach although the address guard refuses private and loopback addresses, and networks of this machine.',
  }),
  webhookAllowHttp: setting('SVC_WEBHOOK_ALLOW_HTTP', onOff, 'off', {
    help: 'Allow plain http to the hosts and ranges of SVC_WEBHOOK_ALLOW; anything else stays https only.',
  }),
  webhookDeny: optional('SVC_WEBHOOK_DENY', hostsAndRanges, {
    help: 'Hosts and ranges that webhooks and chats may never reach, public or not. It beats SVC_WEBHOOK_ALLOW.',
  }),
  webhookNat64: setting('SVC_WEBHOOK_NAT64', nat64Prefixes, 'auto', {
    help: 'Prefixes under which a translator of this network reaches IPv4 addresses (NAT64): those addresses are then checked too. auto asks the name servers for ipv4only.arpa (RFC 7050) and only refuses more; a prefix that is given here may also be private.',
  }),
  webhookProxy: optional('SVC_WEBHOOK_PROXY', webProxy, {
    secret: true,
    loginGoesTo: 'SVC_WEBHOOK_PROXY_PASSWORD_FILE',
    help: 'Proxy through which all webhooks and chats are sent, by CONNECT. TLS to the receiver passes through it. The proxy resolves the names of receivers, so it has to refuse private addresses itself.',
  }),
  webhookProxyPasswordFile: optional('SVC_WEBHOOK_PROXY_PASSWORD_FILE', path, {
    help: 'File with the password of the user in SVC_WEBHOOK_PROXY, as it is, without percent-encoding. It is read again for each connection.',
  }),
  groupWaitSeconds: setting('SVC_GROUP_WAIT_SECONDS', integer(0, 300), '30', {
    unit: 'seconds',
    help: 'How long a mail or chat message waits for further incidents of its rule, for destinations created from now on. 0 = one message per incident.',
  }),
  webhookPorts: optional('SVC_WEBHOOK_PORTS', ports, {
    help: 'Ports that webhooks may use, also on hosts of SVC_WEBHOOK_ALLOW. When unset, every port is allowed except those of other protocols, such as 22, 25 or 587, as in browsers.',
  }),
  auditRetentionDays: setting('SVC_AUDIT_RETENTION_DAYS', integer(1, 3650), '400', {
    unit: 'days',
    help: 'How long commits and audit transitions are kept. The remaining history proves where it begins.',
  }),
  smtpUrl: optional('SVC_SMTP_URL', mailServer, {
    secret: true,
    loginGoesTo: 'SVC_SMTP_PASSWORD_FILE',
    help: 'Mail server for sign-in links, invitations and notifications. It must offer TLS, unless it is on this machine. Put the password into SVC_SMTP_PASSWORD_FILE.',
  }),
  smtpPasswordFile: optional('SVC_SMTP_PASSWORD_FILE', path, {
    help: 'File with the password of the user in SVC_SMTP_URL, as it is, without percent-encoding. It is read at the start.',
  }),
  ciIssuers: setting('SVC_CI_ISSUERS', ciIssuers, 'github', {
    help: 'Issuers whose CI identity tokens can be exchanged. The value replaces the default: include github to keep it. Write the address of your own issuer exactly as in the iss claim of its tokens; plain http is allowed only on loopback. docs/ci-claims.md lists the claims that are bound.',
  }),
  oidcIssuer: optional('SVC_OIDC_ISSUER', issuer, {
    help: 'OpenID Connect provider that people sign in with. Register <public URL>/auth/callback there.',
  }),
  oidcClientId: optional('SVC_OIDC_CLIENT_ID', text, {
    help: 'Client id of this service at the provider; needed with SVC_OIDC_ISSUER.',
  }),
  oidcClientSecretFile: optional('SVC_OIDC_CLIENT_SECRET_FILE', path, {
    help: 'File with the client secret. Without it the service is a public client, with PKCE only.',
  }),
  oidcTrustEmail: setting('SVC_OIDC_TRUST_EMAIL', onOff, 'off', {
    help: 'on: an address without the claim email_verified counts as verified, as from Entra ID. Only for a provider whose addresses an administrator of yours assigns: whoever can choose an address there becomes the person with it.',
  }),
  recentSignInMinutes: setting('SVC_RECENT_SIGN_IN_MINUTES', integer(0, 1440), '15', {
    unit: 'minutes',
    help: 'Age up to which a sign-in in a browser may make invitations, owners, keys, CI trusts and sessions of command lines. An older one has to be repeated first. 0 = any age.',
  }),
  smtpFrom: optional('SVC_SMTP_FROM', sender, {
    defaultInWords: 'svc@ followed by the host of SVC_PUBLIC_URL',
    help: 'Sender address of mails from the service.',
  }),
  smtpName: optional('SVC_SMTP_NAME', label, {
    defaultInWords: 'the domain of the sender',
    help: 'Name of this service in its greeting to the mail server (EHLO). Some servers require that it resolves to the address of this machine.',
  }),
  projectCreation: setting('SVC_PROJECT_CREATION', choice('operator', 'people'), 'operator', {
    help: 'Who may create projects: only the operator, with "svc admin", or also every signed-in person.',
  }),
  expandedDatacenters: setting('SVC_EXPANDED_DATACENTERS', labels, 'DC-1', {
    help: 'Data centers in which VMs can be enrolled for expanded monitoring.',
  }),
  logLevel: setting('SVC_LOG_LEVEL', choice('debug', 'info', 'warn', 'error'), 'info', {
    help: 'Lowest severity of log lines. The log goes to standard error as JSON lines, or as text on a terminal.',
  }),
} as const satisfies Record<string, Setting<unknown>>;

type Table = typeof settingsTable;
type Parsed = { readonly [K in keyof Table]: ReturnType<Table[K]['parse']> };

/** The settings as the rest of the program sees them: checked, with every default filled in. */
export interface Settings
  extends Omit<Parsed, 'demo' | 'collect' | 'masterKeyFile' | 'historyData'> {
  readonly historyData: string;
  readonly demo: boolean;
  /** `auto`: host on Linux, and libvirt where virsh answers. Empty: nothing is collected. */
  readonly collect: 'auto' | readonly ('host' | 'libvirt')[];
  readonly masterKeyFile: string;
  /** true: SVC_MASTER_KEY_FILE was given, so the file must exist. */
  readonly masterKeyFileGiven: boolean;
  /** true: SVC_METRICS_LISTEN was given, so a taken port is a fault rather than a warning. */
  readonly metricsListenGiven: boolean;
}

/**
 * Names that belong to other commands, clients and tests; this program knows but does not read
 * them.
 */
export const namesOfOthers: Readonly<Record<string, string>> = {
  SVC_ENDPOINT: 'API origin, for clients and CI jobs',
  SVC_API_KEY: 'key, for clients',
  SVC_TRUST: 'approved trust name, for CI jobs',
  SVC_AUDIENCE: 'audience of the identity token, for CI jobs',
  SVC_SETUP_CODE: 'pairing code, for the CI verification step',
  SVC_SETUP_ID: 'setup id, for the CI verification step',
  SVC_PROJECT: 'project id, for clients',
  SVC_ENROLMENT_TOKEN: 'one-time token, for "svc agent enrol"',
  SVC_AGENT_STATE: 'folder of the agent inside a guest',
  SVC_COLLECT_STATE: 'folder of "svc collect"',
  SVC_COLLECTOR_KEY: 'key of a collector, for "svc collect enrol"',
  SVC_REEXEC: 'set by the command itself when it hands over to the pinned Node',
  'SVC_TEST_…': 'for the tests',
};

/** Name of the flag of a setting, without dashes: `SVC_TLS_KEY_FILE` → `tls-key-file`. */
export function flagOf(name: string): string {
  return name.replace(/^SVC_/, '').toLowerCase().replaceAll('_', '-');
}

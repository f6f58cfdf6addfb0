/**
 * Reads the settings from flags and environment, and rejects what would surprise later: an unknown
 * name, a bad value, a combination that would put secrets on the wire. All problems are reported
 * together, each with a remedy. Precedence: flag, environment, default.
 */
import { join } from 'node:path';
import { closestName } from '../../../actors/platform/closest-name.ts';
import { redactedUrl } from '../../../streams/platform/redacted-url.ts';
import { BadSetting, HIDDEN_PART, isLoopback, isLoopbackHost } from './setting-kinds.ts';
import { flagOf, namesOfOthers, type Setting, type Settings, settingsTable } from './settings.ts';

export interface Config {
  readonly settings: Settings;
  /** Messages to log: settings without effect, names that Kubernetes injected. */
  readonly warnings: readonly string[];
}

/** The settings are invalid; `problems` has one sentence each, ready to print. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Text of a setting and its origin, for messages about it. */
interface Given {
  readonly text: string;
  /** `SVC_LISTEN` or `--listen`. */
  readonly as: string;
}

type GivenByName = Map<string, Given>;
type Values = { readonly [K in keyof typeof settingsTable]: unknown };

const entries = Object.entries(settingsTable) as [keyof Values, Setting<unknown>][];
const names = entries.map(([, setting]) => setting.name);

/**
 * The checked settings. `flags` are the arguments after the command, `environment` is the
 * process's. Throws `ConfigError` with every problem found.
 */
export function loadConfig(
  flags: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Config {
  const problems: string[] = [];
  const warnings: string[] = [];
  const given: GivenByName = new Map();
  readEnvironment(environment, given, problems, warnings);
  readFlags(flags, given, problems);
  const values = parseAll(given, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  // Every value came from its own setting's parser, or is null where the setting has no default.
  const settings = complete(values as unknown as ParsedValues, given);
  problems.push(...conflicts(settings, given));
  if (problems.length > 0) throw new ConfigError(problems);
  warnings.push(...oversights(settings, given));
  return { settings, warnings };
}

type ParsedValues = {
  readonly [K in keyof typeof settingsTable]: ReturnType<(typeof settingsTable)[K]['parse']>;
};

function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  given: GivenByName,
  problems: string[],
  warnings: string[],
): void {
  for (const [name, value] of Object.entries(environment)) {
    // An empty variable counts as unset: a script may have left it so.
    if (!name.startsWith('SVC_') || value === undefined || value.trim() === '') continue;
    if (names.includes(name as `SVC_${string}`)) given.set(name, { text: value.trim(), as: name });
    else if (name in namesOfOthers || name.startsWith('SVC_TEST_')) continue;
    else if (isInjectedByKubernetes(name, value)) {
      warnings.push(
        `${name} is ignored: Kubernetes injects it for a service whose name begins with "svc" ` +
          '(set enableServiceLinks: false to stop that)',
      );
    } else problems.push(`${name} is not a setting: ${suggestion(name, names)}`);
  }
}

/**
 * Kubernetes describes every service of the namespace in each container's environment; the forms
 * of a service named `svc` or `svc-…` look like settings of ours. The value distinguishes them.
 */
function isInjectedByKubernetes(name: string, value: string): boolean {
  if (/^SVC(_[A-Z0-9_]+)?_SERVICE_HOST$/.test(name)) return /^[0-9a-fA-F.:]+$/.test(value);
  if (/^SVC(_[A-Z0-9_]+)?_SERVICE_PORT(_[A-Z0-9_]+)?$/.test(name)) return /^\d+$/.test(value);
  if (/_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return /_PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value);
}

function suggestion(given: string, known: readonly string[]): string {
  const closest = closestName(given, known);
  return closest
    ? `did you mean ${closest}? "svc help serve" lists all`
    : '"svc help serve" lists all of them; unset it if it belongs to something else';
}

function readFlags(flags: readonly string[], given: GivenByName, problems: string[]): void {
  const known = names.map((name) => `--${flagOf(name)}`);
  const seen = new Set<string>();
  for (let i = 0; i < flags.length; i++) {
    const argument = flags[i] ?? '';
    const [flag = '', inline] = splitOnce(argument);
    const setting = entries.find(([, { name }]) => `--${flagOf(name)}` === flag)?.[1];
    const following = flags[i + 1];
    const isValue = following !== undefined && !following.startsWith('--');
    // The word after an unknown flag is read as its value: one mistake, one problem.
    if (inline === undefined && isValue && flag.startsWith('--')) i++;
    if (!setting) {
      problems.push(unknownArgument(argument, flag, known));
      continue;
    }
    const value = inline ?? (isValue ? following : setting.kind.isSwitch ? 'on' : undefined);
    if (seen.has(flag)) problems.push(`${flag} is given twice: give it once`);
    else if (value === undefined || value.trim() === '') {
      problems.push(`${flag} has no value: give ${setting.kind.takes}`);
    } else if (setting.secret && hasSecretLogin(value)) {
      problems.push(secretFlag(flag, setting));
    } else given.set(setting.name, { text: value.trim(), as: flag });
    seen.add(flag);
  }
}

/**
 * True if a URL in the value has a password or a token. The arguments of a process are readable by
 * every user of the machine.
 */
function hasSecretLogin(value: string): boolean {
  return value.split(',').some((item) => {
    const text = item.trim();
    // A text that is not a URL may still contain a login.
    if (!URL.canParse(text)) return text.includes('@');
    const { protocol, username, password } = new URL(text);
    const mayNameUser = /^(?:smtp|http)s?:$/.test(protocol);
    return password !== '' || (username !== '' && !mayNameUser);
  });
}

function secretFlag(flag: string, { name, loginGoesTo }: Setting<unknown>): string {
  return (
    `${flag} has a login, and every user of this machine can read the arguments of a process: leave ` +
    `it out, and put it into ${loginGoesTo}, or set ${name} in the environment instead of the flag`
  );
}

function unknownArgument(argument: string, flag: string, known: readonly string[]): string {
  if (!argument.startsWith('-')) {
    return `${JSON.stringify(redactedUrl(argument))} is not expected: settings are flags, such as --listen`;
  }
  const closest = closestName(flag, known);
  const hint = closest ? `did you mean ${closest}? ` : '';
  return `${flag} is not a flag of svc serve: ${hint}"svc help serve" lists all`;
}

function splitOnce(argument: string): [string, string | undefined] {
  const at = argument.indexOf('=');
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)];
}

function parseAll(given: GivenByName, problems: string[]): Partial<Values> {
  const values: Record<string, unknown> = {};
  for (const [key, setting] of entries) {
    const found = given.get(setting.name);
    const text = found?.text ?? setting.default;
    try {
      values[key] = text === undefined ? null : setting.parse(text);
    } catch (error) {
      if (!(error instanceof BadSetting)) throw error;
      const name = found?.as ?? setting.name;
      problems.push(`${name} must be ${setting.kind.takes}: ${whyBad(setting, text, error)}`);
    }
  }
  return values;
}

/** If a part of the value may belong to a password, no part of it is quoted. */
function whyBad({ secret, kind }: Setting<unknown>, text = '', error: BadSetting): string {
  const displayed = (kind.displayed ?? redactedUrl)(text);
  const isWhole = !secret && displayed === text;
  const phrase = error.phrase((part) => (isWhole ? JSON.stringify(part) : HIDDEN_PART));
  return `${secret ? 'its value' : JSON.stringify(displayed)} ${phrase}`;
}

function complete(values: ParsedValues, given: GivenByName): Settings {
  const demo = values.demo ?? values.natsUrl === null;
  const requested = values.collect?.filter((source) => source !== 'none');
  return {
    ...values,
    demo,
    collect: requested ?? (demo ? 'auto' : []),
    historyData: values.historyData ?? values.data,
    masterKeyFile: values.masterKeyFile ?? join(values.data, 'master.key'),
    masterKeyFileGiven: values.masterKeyFile !== null,
    metricsListenGiven: given.has('SVC_METRICS_LISTEN'),
  };
}

/** Messages about settings that are valid alone but not together. */
function conflicts(settings: Settings, given: GivenByName): string[] {
  const as = (name: string): string => given.get(name)?.as ?? name;
  const problems: string[] = [];
  const { listen, tlsCertFile, tlsKeyFile, trustedProxy, metricsListen } = settings;
  if ((tlsCertFile === null) !== (tlsKeyFile === null)) {
    const [has, lacks] = tlsCertFile
      ? ['SVC_TLS_CERT_FILE', 'SVC_TLS_KEY_FILE']
      : ['SVC_TLS_KEY_FILE', 'SVC_TLS_CERT_FILE'];
    problems.push(`${as(has)} needs ${lacks}: a certificate and its key belong together`);
  } else if (!isLoopback(listen.host) && !tlsCertFile && !trustedProxy) {
    problems.push(
      `${as('SVC_LISTEN')} is ${listen.host}, which other machines can reach, and keys would ` +
        'travel in the clear: set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or name the proxy that ' +
        'terminates TLS in SVC_TRUSTED_PROXY, or listen on 127.0.0.1',
    );
  }
  if (metricsListen && !isLoopback(metricsListen.host)) {
    problems.push(
      `${as('SVC_METRICS_LISTEN')} must be on loopback: from elsewhere read /metrics of the API ` +
        'with a credential that may read',
    );
  }
  if (settings.auditSinkRequired && settings.auditSink === null) {
    problems.push(
      `${as('SVC_AUDIT_SINK_REQUIRED')} needs SVC_AUDIT_SINK: the file that the records are written to`,
    );
  }
  if (settings.webhookAllowHttp && !settings.webhookAllow) {
    problems.push(
      `${as('SVC_WEBHOOK_ALLOW_HTTP')} needs SVC_WEBHOOK_ALLOW: it allows plain http only for those ` +
        'hosts and ranges',
    );
  }
  problems.push(...proxyConflicts(settings, as));
  problems.push(...collectConflicts(settings, given, as), ...signInConflicts(settings, as));
  problems.push(...natsConflicts(settings, as));
  return problems;
}

/** Settings that work, but probably not as intended. */
function oversights(settings: Settings, given: GivenByName): string[] {
  const { listen, publicUrl, trustedProxy } = settings;
  if (publicUrl !== null && sharesCookies(publicUrl)) {
    return [
      `${given.get('SVC_PUBLIC_URL')?.as} is ${redactedUrl(publicUrl)}, and browsers send the session of this host to every ` +
        'port of the machine: leave it out, or use a name under .localhost',
    ];
  }
  if (publicUrl !== null || (isLoopback(listen.host) && !trustedProxy)) return [];
  const name = trustedProxy ? 'SVC_TRUSTED_PROXY' : 'SVC_LISTEN';
  return [
    `${given.get(name)?.as ?? name} lets others reach the service, but without SVC_PUBLIC_URL it ` +
      'does not know its address: people cannot sign in from elsewhere, and links lead to this machine',
  ];
}

/** True if other programs of this machine have the same host name, and so the same cookies. */
function sharesCookies(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'http:' && isLoopbackHost(hostname);
}

function proxyConflicts(
  { webhookProxy, webhookProxyPasswordFile: file }: Settings,
  as: (name: string) => string,
): string[] {
  if (file === null) return [];
  const name = as('SVC_WEBHOOK_PROXY_PASSWORD_FILE');
  if (webhookProxy === null) {
    return [`${name} needs SVC_WEBHOOK_PROXY: the proxy that the password belongs to`];
  }
  const { username, password } = new URL(webhookProxy);
  if (username === '') return [`${name} needs a user in SVC_WEBHOOK_PROXY: http://user@host:port`];
  if (password === '') return [];
  return [`${name} and the password in SVC_WEBHOOK_PROXY are the same thing: set only one`];
}

function signInConflicts(settings: Settings, as: (name: string) => string): string[] {
  const { oidcIssuer, oidcClientId, oidcClientSecretFile, oidcTrustEmail } = settings;
  const { smtpFrom, smtpName, smtpUrl, smtpPasswordFile } = settings;
  const problems: string[] = [];
  if (oidcIssuer !== null && oidcClientId === null) {
    problems.push(
      `${as('SVC_OIDC_ISSUER')} needs SVC_OIDC_CLIENT_ID: the id that the provider gave this service`,
    );
  }
  for (const [name, value] of [
    ['SVC_OIDC_CLIENT_ID', oidcClientId],
    ['SVC_OIDC_CLIENT_SECRET_FILE', oidcClientSecretFile],
  ] as const) {
    if (value === null || oidcIssuer !== null) continue;
    problems.push(`${as(name)} needs SVC_OIDC_ISSUER: the provider it belongs to`);
  }
  if (oidcTrustEmail && oidcIssuer === null) {
    problems.push(`${as('SVC_OIDC_TRUST_EMAIL')} needs SVC_OIDC_ISSUER: the provider to trust`);
  }
  if (oidcTrustEmail && oidcIssuer !== null && isSharedIssuer(oidcIssuer)) {
    problems.push(
      `${as('SVC_OIDC_TRUST_EMAIL')} is on for ${oidcIssuer}, where anybody can have an account with any address: use the issuer of your own tenant, or off`,
    );
  }
  for (const [name, value] of [
    ['SVC_SMTP_FROM', smtpFrom],
    ['SVC_SMTP_NAME', smtpName],
    ['SVC_SMTP_PASSWORD_FILE', smtpPasswordFile],
  ] as const) {
    if (value === null || smtpUrl !== null) continue;
    problems.push(`${as(name)} needs SVC_SMTP_URL: the server to send mail by`);
  }
  if (smtpPasswordFile !== null && smtpUrl !== null) {
    const { username, password } = new URL(smtpUrl);
    if (username === '' || password !== '') {
      problems.push(
        `${as('SVC_SMTP_PASSWORD_FILE')} needs a user without a password in SVC_SMTP_URL, such as ` +
          'smtp://svc@mail.example.com:587',
      );
    }
  }
  return problems;
}

/** Issuers of accounts from any tenant, and of Microsoft's personal accounts. */
const SHARED_ISSUERS = [
  /^https:\/\/accounts\.google\.com(\/|$)/,
  /^https:\/\/appleid\.apple\.com(\/|$)/,
  /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)(\/|$)/i,
];

function isSharedIssuer(issuer: string): boolean {
  return SHARED_ISSUERS.some((pattern) => pattern.test(issuer));
}

function natsConflicts(settings: Settings, as: (name: string) => string): string[] {
  const { natsUrl, natsUser, natsPasswordFile, natsCertFile, natsKeyFile } = settings;
  const logins = {
    SVC_NATS_USER: natsUser,
    SVC_NATS_TOKEN_FILE: settings.natsTokenFile,
    SVC_NATS_NKEY_FILE: settings.natsNkeyFile,
    SVC_NATS_CREDENTIALS_FILE: settings.natsCredentialsFile,
  };
  const files = {
    SVC_NATS_PASSWORD_FILE: natsPasswordFile,
    SVC_NATS_CA_FILE: settings.natsCaFile,
    SVC_NATS_CERT_FILE: natsCertFile,
    SVC_NATS_KEY_FILE: natsKeyFile,
    SVC_STREAM_REPLICAS: settings.streamReplicas,
  };
  const problems: string[] = [];
  if (natsUrl === null) {
    for (const [name, value] of Object.entries({ ...logins, ...files })) {
      if (value === null) continue;
      problems.push(`${as(name)} needs SVC_NATS_URL: without it the stream is embedded`);
    }
    return problems;
  }
  for (const [[one, has], [other, lacks]] of [
    [
      ['SVC_NATS_USER', natsUser],
      ['SVC_NATS_PASSWORD_FILE', natsPasswordFile],
    ],
    [
      ['SVC_NATS_PASSWORD_FILE', natsPasswordFile],
      ['SVC_NATS_USER', natsUser],
    ],
    [
      ['SVC_NATS_CERT_FILE', natsCertFile],
      ['SVC_NATS_KEY_FILE', natsKeyFile],
    ],
    [
      ['SVC_NATS_KEY_FILE', natsKeyFile],
      ['SVC_NATS_CERT_FILE', natsCertFile],
    ],
  ] as const) {
    if (has !== null && lacks === null) problems.push(`${as(one)} needs ${other} as well`);
  }
  const given = Object.entries(logins).filter(([, value]) => value !== null);
  const ways = given.map(([name]) => as(name));
  if (natsUrl.login) ways.unshift(`a login in ${as('SVC_NATS_URL')}`);
  if (ways.length > 1)
    problems.push(`${ways.join(' and ')} are separate logins at NATS: set only one`);
  return problems;
}

function collectConflicts(
  settings: Settings,
  given: GivenByName,
  as: (name: string) => string,
): string[] {
  const { collect, demo } = settings;
  const isMixed = given.get('SVC_COLLECT')?.text.includes('none') && collect.length > 0;
  if (isMixed) return [`${as('SVC_COLLECT')} has none beside a source: set one or the other`];
  if (collect !== 'auto' && collect.length > 0 && !demo) {
    return [
      `${as('SVC_COLLECT')} needs the project demo, where readings of this host go: set SVC_DEMO ` +
        'to on, SVC_COLLECT to none, or SVC_COLLECT_MAP for projects of your own',
    ];
  }
  return [];
}

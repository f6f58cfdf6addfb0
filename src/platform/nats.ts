/**
 * The connection to NATS that the settings describe: this program's login, and the servers it
 * trusts. Login files are read again at each new connection, so that a changed password needs no
 * restart; if one cannot be read, the last usable login stays in use.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  nkeys,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import { type NatsRefusal, NatsRefused } from '../../streams/platform/jetstream/connection.ts';
import {
  type JetStream,
  type JetStreamOptions,
  openJetStream,
} from '../../streams/platform/jetstream/jetstream-stream.ts';
import type { Random } from '../../streams/platform/random.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { ConfigError } from './settings/config.ts';
import type { NatsServers } from './settings/setting-kinds.ts';
import type { Settings } from './settings/settings.ts';

type NatsSettings = Pick<
  Settings,
  | 'natsUrl'
  | 'natsUser'
  | 'natsPasswordFile'
  | 'natsTokenFile'
  | 'natsNkeyFile'
  | 'natsCredentialsFile'
  | 'natsCaFile'
  | 'natsCertFile'
  | 'natsKeyFile'
  | 'streamReplicas'
>;

/** This program's login, and the setting to check when it is refused. */
interface Login {
  readonly setting: string;
  readonly authenticator?: Authenticator;
}

/**
 * The stream on NATS. Throws `ConfigError`, with the invalid setting, if a file is invalid or the
 * servers refuse the login or certificate; otherwise what `openJetStream` throws.
 */
export async function openNats(
  settings: NatsSettings,
  ports: Pick<JetStreamOptions, 'clock' | 'onMadeAgain'> & { readonly random: Random },
): Promise<JetStream> {
  const { natsUrl, streamReplicas: replicas } = settings;
  if (natsUrl === null) throw new ConfigError(['SVC_NATS_URL is not set']);
  const login = loginOf(settings, natsUrl);
  const tls = tlsOf(settings, natsUrl);
  const { authenticator } = login;
  try {
    return await openJetStream({
      ...ports,
      url: natsUrl.servers,
      ...(replicas !== null && { replicas }),
      security: { ...(authenticator && { authenticator }), ...(tls && { tls }) },
    });
  } catch (error) {
    // With TLS 1.3 such a server disconnects after the handshake, and the client gets no reason.
    if (error instanceof StreamUnavailable && tls && settings.natsCertFile === null) {
      const hint = 'if it requires a client certificate, set SVC_NATS_CERT_FILE';
      throw new StreamUnavailable(`${error.message}; ${hint}`, 'refused', { cause: error });
    }
    if (!(error instanceof NatsRefused)) throw error;
    throw new ConfigError([`${error.message}: ${remedies[error.reason](login)}`]);
  }
}

const remedies: Readonly<Record<NatsRefusal, (login: Login) => string>> = {
  login: ({ setting }) => `check ${setting}`,
  serverCertificate: () =>
    'set SVC_NATS_CA_FILE to the authority of its certificate, and SVC_NATS_URL to the host that ' +
    'the certificate is for',
  clientCertificate: () =>
    'set SVC_NATS_CERT_FILE and SVC_NATS_KEY_FILE to a certificate that it trusts',
  unencrypted: () =>
    'it offers no TLS: enable it there, or leave out tls://, SVC_NATS_CA_FILE and SVC_NATS_CERT_FILE',
};

/** Checks the files given. Throws `ConfigError`, which never contains their content. */
function loginOf(settings: NatsSettings, { login }: NatsServers): Login {
  const { natsUser, natsPasswordFile, natsTokenFile, natsNkeyFile, natsCredentialsFile } = settings;
  if (natsUser !== null && natsPasswordFile !== null) {
    const password = file('SVC_NATS_PASSWORD_FILE', natsPasswordFile);
    const authenticator = usernamePasswordAuthenticator(natsUser, password);
    return { setting: 'SVC_NATS_USER and SVC_NATS_PASSWORD_FILE', authenticator };
  }
  if (natsTokenFile !== null) {
    const authenticator = tokenAuthenticator(file('SVC_NATS_TOKEN_FILE', natsTokenFile));
    return { setting: 'SVC_NATS_TOKEN_FILE', authenticator };
  }
  if (natsNkeyFile !== null) {
    const setting = 'SVC_NATS_NKEY_FILE';
    const seed = file(setting, natsNkeyFile, assertSeed);
    return { setting, authenticator: nkeyAuthenticator(() => bytes(seed())) };
  }
  if (natsCredentialsFile !== null) {
    const setting = 'SVC_NATS_CREDENTIALS_FILE';
    const credentials = file(setting, natsCredentialsFile, assertCredentials);
    return { setting, authenticator: credsAuthenticator(() => bytes(`${credentials()}\n`)) };
  }
  const ways =
    'a login in SVC_NATS_URL, SVC_NATS_USER, SVC_NATS_TOKEN_FILE, SVC_NATS_NKEY_FILE or ' +
    'SVC_NATS_CREDENTIALS_FILE, none of which is set';
  if (login === undefined) return { setting: ways };
  const authenticator =
    'token' in login
      ? tokenAuthenticator(login.token)
      : usernamePasswordAuthenticator(login.user, login.password);
  return { setting: 'the login in SVC_NATS_URL', authenticator };
}

/** Reads the file's text on each call. Only the first read, here, throws `ConfigError`. */
function file(setting: string, path: string, assertFit?: (text: string) => void): () => string {
  const read = (): string => {
    const text = readText(setting, path).trim();
    if (text === '') throw new ConfigError([`${setting} ${path} is empty`]);
    try {
      assertFit?.(text);
    } catch {
      // The reason would quote the file's content.
      throw new ConfigError([`${setting} ${path} does not hold ${contents[setting] ?? 'text'}`]);
    }
    return text;
  };
  let last = read();
  return () => {
    try {
      last = read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
    return last;
  };
}

const contents: Readonly<Record<string, string>> = {
  SVC_NATS_NKEY_FILE: 'the seed of a user’s nkey (SU…)',
  SVC_NATS_CREDENTIALS_FILE: 'a user’s JWT and seed, as nsc and nk write them',
  SVC_NATS_CA_FILE: 'certificates in PEM form',
};

function assertSeed(text: string): void {
  if (!text.startsWith('SU')) throw new Error('Not a user’s seed');
  nkeys.fromSeed(bytes(text));
}

function assertCredentials(text: string): void {
  credsAuthenticator(bytes(`${text}\n`))('nonce');
}

function tlsOf(settings: NatsSettings, { servers, tls }: NatsServers) {
  const { natsCaFile, natsCertFile, natsKeyFile } = settings;
  if (!tls && natsCaFile === null && natsCertFile === null) return undefined;
  if (natsCaFile !== null) {
    file('SVC_NATS_CA_FILE', natsCaFile, (text) => void new X509Certificate(text));
  }
  if (natsCertFile !== null && natsKeyFile !== null) assertPair(natsCertFile, natsKeyFile);
  const hosts = servers.map((server) => new URL(server).hostname.replace(/^\[|\]$/g, ''));
  return {
    ...(natsCaFile !== null && { caFile: natsCaFile }),
    ...(natsCertFile !== null && { certFile: natsCertFile }),
    ...(natsKeyFile !== null && { keyFile: natsKeyFile }),
    checkServerIdentity: identityOf(hosts),
  };
}

function assertPair(certFile: string, keyFile: string): void {
  const cert = readText('SVC_NATS_CERT_FILE', certFile);
  const key = readText('SVC_NATS_KEY_FILE', keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new ConfigError([
      `SVC_NATS_CERT_FILE ${certFile} and SVC_NATS_KEY_FILE ${keyFile} are not a certificate and ` +
        `its key (${cause}): use a PEM chain and its PEM key without a passphrase`,
    ]);
  }
}

/**
 * Compares a server's certificate with its name. The client library passes no name for a server
 * that is given by its address, and Node.js then assumes `localhost`, so the given addresses count.
 */
function identityOf(hosts: readonly string[]): typeof checkServerIdentity {
  return (name, certificate) => {
    const named = name !== 'localhost' || hosts.includes(name) ? [name] : hosts;
    const faults = named.map((host) => checkServerIdentity(host, certificate));
    return faults.includes(undefined) ? undefined : faults[0];
  };
}

function readText(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${setting} cannot be read: ${cause}`]);
  }
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { CaissonError, type NetworkRules } from '@caisson/contract';
import { shellQuote } from '../../images/shell/shell-quote.ts';
import type { GitAddress } from '../../images/sources/git-address.ts';
import { PacketReader } from '../../images/sources/pkt-line.ts';
import type { Converse } from '../../images/sources/remote.ts';
import { remoteWords } from '../../images/sources/remote-words.ts';
import type { Reach } from '../../network/dial/reach.ts';
import { readHost } from '../../network/rules/host.ts';
import type { Credential } from './credentials.ts';
import { type PrivateText, privateText } from './private-text.ts';
import { readSshSecret } from './ssh-secret.ts';

export interface SshRemoteOptions {
  readonly reach: Pick<Reach, 'addresses'>;
  readonly rules: NetworkRules;
  readonly address: GitAddress;
  readonly credential: Credential | undefined;
  readonly idleMs?: number | undefined;
}

const defaultIdleMs = 60_000;
const lastWords = 4_000;

/**
 * A remote over ssh, by the machine's own `ssh` and nothing of its user's: no settings, no agent, no keys. Only bytes of
 * git's protocol pass; the key stays with the server.
 */
export function sshRemote(options: SshRemoteOptions): Converse {
  return async (signal) => {
    const { reach, rules, address, credential, idleMs = defaultIdleMs } = options;
    const host = readHost(address.host);
    if (host === undefined) throw new CaissonError('source_unreachable', `${address.host} is not a host`);
    if (credential === undefined)
      throw new CaissonError('source_denied', 'over ssh it wants a key', {
        hint: 'Store a key with `caisson secret set`, bound to its host and port 22, and name it with `authRef`.',
      });
    const { key, knownHosts } = readSshSecret(credential);
    const [at = ''] = await reach.addresses(rules, { host, port: address.port }, signal);
    const files: PrivateText[] = [];
    const close = async () => {
      await Promise.all(files.splice(0).map((file) => file.close()));
    };
    try {
      for (const text of [key, knownHosts]) files.push(await privateText(text));
      const [keyFile = '', hostsFile = ''] = files.map(({ path }) => path);
      const child = spawn('ssh', sshArguments(address, at, keyFile, hostsFile), {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH ?? '', GIT_PROTOCOL: 'version=2', LC_ALL: 'C' },
        signal,
      });
      const greeting = new PacketReader(outputOf(child, credential.name, idleMs, signal));
      return {
        greeting,
        ask: async (request) => {
          child.stdin.write(request);
          return greeting;
        },
        close: async () => {
          child.kill('SIGKILL');
          await close();
        },
      };
    } catch (error) {
      await close();
      throw error;
    }
  };
}

function sshArguments({ host, port, path, user }: GitAddress, at: string, key: string, hosts: string): string[] {
  const settings = {
    BatchMode: 'yes',
    StrictHostKeyChecking: 'yes',
    UserKnownHostsFile: hosts,
    GlobalKnownHostsFile: '/etc/ssh/ssh_known_hosts',
    // The address is the one that the rules decided on; the key is that of the name.
    HostKeyAlias: port === 22 ? host : `[${host}]:${port}`,
    CheckHostIP: 'no',
    UpdateHostKeys: 'no',
    IdentityFile: key,
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    PreferredAuthentications: 'publickey',
    ConnectTimeout: '15',
    ServerAliveInterval: '15',
    ClearAllForwardings: 'yes',
    SendEnv: 'GIT_PROTOCOL',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const command = `git-upload-pack ${shellQuote(path)}`;
  return ['-F', 'none', '-T', ...options, '-p', String(port), '-l', user ?? 'git', '--', at, command];
}

/** What ssh writes. Its failures are listened for from the start, whoever reads it. */
function outputOf(
  child: ChildProcessWithoutNullStreams,
  secret: string,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let words = '';
  child.stdin.on('error', () => {});
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk).slice(-lastWords);
  });
  const ended = new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      words += `\n${error.message}`;
      if (child.pid === undefined) resolve(null);
    });
    child.on('close', resolve);
  });
  return read();

  async function* read(): AsyncGenerator<Uint8Array> {
    let isIdle = false;
    const timer = setTimeout(() => {
      isIdle = true;
      child.kill('SIGKILL');
    }, idleMs);
    try {
      for await (const chunk of child.stdout) {
        timer.refresh();
        yield chunk as Buffer;
        timer.refresh();
      }
    } finally {
      clearTimeout(timer);
    }
    const code = await ended;
    if (signal.aborted) throw signal.reason;
    if (isIdle) throw new CaissonError('source_unreachable', `its host said nothing for ${idleMs / 1000} s`);
    if (code !== 0) throw whyEnded(words, secret);
  }
}

function whyEnded(words: string, secret: string): CaissonError {
  const said = remoteWords(words.trim().split('\n').at(-1) ?? '');
  if (/ENOENT/.test(words))
    return new CaissonError('source_failed', 'there is no `ssh` on the machine of the server', {
      hint: 'Install it (apt-get install openssh-client), or use an `https://` address.',
    });
  if (/Host key verification failed|No .* host key is known/.test(words))
    return new CaissonError('source_denied', 'the key of its host is not known', {
      hint: `Add the host's line of \`known_hosts\` to the secret \`${secret}\`, after the private key.`,
    });
  if (/Permission denied/.test(words))
    return new CaissonError('source_denied', `it refuses the key in the secret \`${secret}\``);
  if (/not appear to be a git repository|not found|does not exist|no such/i.test(words))
    return new CaissonError('source_not_found', `it says: ${said}`);
  return new CaissonError('source_unreachable', `ssh says: ${said || 'nothing'}`);
}

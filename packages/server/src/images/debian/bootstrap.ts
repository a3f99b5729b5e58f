import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CaissonError } from '@caisson/contract';
import type { AptSetup } from './apt-sources.ts';
import type { DebianRelease } from './releases.ts';

/** What the smallest system that can install packages lacks, and a sandbox should not. */
export const included = [
  { package: 'ca-certificates', why: 'nothing can be fetched over TLS without it, and little is fetched otherwise' },
] as const;

/** Everything of the machine that a bootstrap would leave in the base. */
const cleanUp = [
  'rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap"',
  'rm -f "$1/etc/hostname" "$1/etc/resolv.conf"',
  'echo sandbox > "$1/etc/hostname"',
  ': > "$1/etc/resolv.conf"',
  'printf "127.0.0.1 localhost\\n::1 localhost\\n" > "$1/etc/hosts"',
  'mkdir -p "$1/workspace"',
];

/**
 * In namespaces of its own: its mounts end with it, and so do all of its processes when the first is killed, or the
 * server is. The draft folder stands in for /tmp, because apt's own user must reach it and may not enter ours.
 */
const wrapper = [
  'setpriv',
  '--pdeathsig',
  'KILL',
  'unshare',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];
const script = 'mount --bind "$1" /tmp && shift && exec mmdebstrap "$@"';

const lastLines = 20;
const maxLineLength = 500;

export interface BootstrapOptions {
  readonly release: DebianRelease;
  readonly apt: AptSetup;
  /** An empty folder to work in. */
  readonly draft: string;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export function bootstrapArguments(release: DebianRelease, apt: AptSetup): string[] {
  return [
    '--mode=root',
    '--variant=minbase',
    '--format=tar',
    `--include=${included.map((entry) => entry.package).join(',')}`,
    ...apt.settings.map((setting) => `--aptopt=${setting}`),
    `--customize-hook=${cleanUp.join(' && ')}`,
    release.name,
    '-',
    ...apt.sources,
  ];
}

/** The tar of a fresh Debian, as it is made. Throws at its end when the bootstrap failed. */
export async function* bootstrap(options: BootstrapOptions): AsyncGenerator<Uint8Array> {
  const { release, apt, draft, signal, progress } = options;
  const [program = '', ...args] = [...wrapper, 'sh', '-c', script, 'sh', draft, ...bootstrapArguments(release, apt)];
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(release),
    signal,
    killSignal: 'SIGKILL',
  });
  const words: string[] = [];
  const ended = new Promise<string | undefined>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, by) => resolve(code === 0 ? undefined : `it ended with ${code ?? by}`));
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    const text = line.slice(0, maxLineLength).trim();
    if (text === '') return;
    words.push(text);
    if (words.length > lastLines) words.shift();
    if (!text.startsWith('I: running --customize-hook')) progress(text.replace(/^I: /, ''));
  });
  try {
    yield* child.stdout;
    const failure = await ended;
    signal.throwIfAborted();
    if (failure !== undefined) throw failed(release, failure, words);
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  }
}

/** Nothing of the server's own environment but the way to the network. */
function environment(release: DebianRelease): NodeJS.ProcessEnv {
  const passed = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
  return {
    ...Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    TMPDIR: '/tmp',
    // No file is newer than the release, so that the same packages give the same bytes.
    SOURCE_DATE_EPOCH: String(Date.parse(release.released) / 1000),
  };
}

function failed(release: DebianRelease, failure: string, words: readonly string[]): CaissonError {
  const why = words.findLast((line) => line.startsWith('E: ')) ?? failure;
  return new CaissonError('build_failed', `Debian ${release.name} could not be bootstrapped: ${why}`, {
    hint: "The context has its last words; often the mirror of the machine's apt cannot be reached.",
    context: { step: 'bootstrap', words },
  });
}

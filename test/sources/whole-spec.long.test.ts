import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { giveDebianBase } from '../debian-base.ts';
import { makeCertificates } from '../network/certificates.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { caissonBin, type ServerProcess, startServerProcess } from '../server-process.ts';
import { slowness } from '../slowness.ts';
import { filesWith, ProcessWatch, spellingsOf } from './found-nowhere.ts';
import { type GitServer, gitServer, opened } from './git-server.ts';

/** A secret is bound to a name; this one needs nobody to resolve it, and is dialled by its address. */
const host = 'localhost';
const address = '127.0.0.1';
const login = 'x-access-token:whole-spec-token-5b1c';
const certificates = makeCertificates(address);
const waitSeconds = 600;
/** Only the unstable release has it. It is one program without libraries; a mirror may be older than it may be. */
const chezmoiOfSid = [
  'cd /tmp',
  'echo "deb [check-valid-until=no] $(sed -n "s/^deb \\([^ ]*\\).*/\\1/p;q" /etc/apt/sources.list) sid main" > /etc/apt/sources.list.d/sid.list',
  'apt-get update -q',
  'apt-get download chezmoi/sid',
  'dpkg -i --force-depends chezmoi_*.deb',
  'rm -f /etc/apt/sources.list.d/sid.list chezmoi_*.deb',
].join('\n');
const worlds = [
  { name: 'native, on an OCI runtime', builder: 'native', driver: 'oci', why: undefined },
  { name: 'BuildKit, on Docker', builder: 'buildkit', driver: 'docker', why: whyNoEngine('docker') },
];

/** One spec with everything that a spec can have, for real: Debian's packages come from its mirror. */
describe.each(worlds)('a spec with everything: $name', ({ builder, driver, why }) => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-whole-'));
  const data = join(folder, 'data');
  let log = '';
  let git: GitServer;
  let engine: RealEngine | undefined;
  let server: ServerProcess;
  let caisson: Caisson;

  beforeAll(async () => {
    if (why !== undefined) return;
    await giveDebianBase(data);
    git = await gitServer({ certificate: certificates.of(address), login });
    const roots = join(folder, 'roots.pem');
    writeFileSync(roots, certificates.authority);
    engine = driver === 'docker' ? await startEngine('docker') : undefined;
    const dockerHost = engine ? ['--docker-host', engine.host] : [];
    server = await startServerProcess(data, {
      drivers: [driver],
      more: ['--builder', builder, '--log-level', 'trace', '--egress-roots', roots, ...opened(git), ...dockerHost],
      onOutput: (chunk) => {
        log += chunk;
      },
    });
    caisson = new Caisson({ baseUrl: server.url });
    git.make('app', { Makefile: 'all:\n\techo built by $$(id -u) > out.txt\n', 'a.txt': 'private\n' });
    git.make('dotfiles', { 'zsh/.zshrc': 'export FROM_DOTFILES=1\n', 'vim/.vimrc': 'set number\n' });
    git.make('settings', { 'settings.yaml': 'x: 1\n' });
    git.make('boot', { 'install.sh': '#!/bin/sh\npwd > ~/booted\n' });
    await caisson.secrets.set('app', { value: login, domains: [host], ports: [git.httpsPort] });
  }, 300_000 * slowness);

  afterAll(async () => {
    if (caisson) for await (const sandbox of caisson.sandboxes.list()) await sandbox.destroy();
    await server?.stop();
    await engine?.close();
    await git?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 300_000 * slowness);

  const specOf = (last: string) => {
    const open = (name: string) => ({ kind: 'git', url: `http://${host}:${git.httpPort}/${name}` });
    return {
      os: { family: 'debian', release: 'bookworm' },
      source: { kind: 'git', url: `https://${host}:${git.httpsPort}/app`, ref: 'main', authRef: 'app' },
      packages: ['make', 'jq'],
      customization: { shell: 'zsh', dotfilesManager: 'stow' },
      inputs: [
        { purpose: 'dotfiles', ...open('dotfiles') },
        { purpose: 'config', ...open('settings'), mountPath: '/opt/settings' },
        { purpose: 'bootstrap', ...open('boot') },
      ],
      env: { GREETING: 'hello "world"' },
      setup: [
        'make',
        { id: 'last', run: `git status --porcelain; echo "$GREETING" > ~/greeting; ${last}`, shell: 'bash' },
      ],
      startup: { steps: ['echo "started $GREETING" > started.txt'], foreground: 'echo in front; exec sleep 100000' },
      target: { runtime: { name: driver, mode: 'require' } },
    };
  };
  const create = (spec: object) => caisson.sandboxes.create({ spec: spec as never, waitSeconds });
  const sh = async (sandbox: SandboxHandle, line: string) => {
    const { stdout, stderr } = await sandbox.exec(['/bin/sh', '-c', line]);
    return `${stdout}${stderr}`.trim();
  };
  const stepsOf = async ({ id, record }: SandboxHandle) => {
    const { build } = await caisson.sandboxes.attempt(id, record.attempt ?? '');
    const { steps } = await caisson.builds.get(build ?? '');
    return { build: build ?? '', steps: steps.map((step) => `${step.id} ${step.state}`) };
  };
  const told = (...words: string[]) =>
    execFileSync(process.execPath, [caissonBin, ...words], {
      env: { ...process.env, CAISSON_DATA_FOLDER: data },
      encoding: 'utf8',
    });

  test.skipIf(why !== undefined)(`it is there as it says${why === undefined ? '' : ` (${why})`}`, async () => {
    const watch = new ProcessWatch();
    const sandbox = await create(specOf('echo one'));
    expect(
      await sh(
        sandbox,
        'cd /workspace/repo && cat a.txt out.txt started.txt && git status -sb && git log --oneline | wc -l',
      ),
    ).toBe('private\nbuilt by 0\nstarted hello "world"\n## main...origin/main\n?? out.txt\n?? started.txt\n1');
    expect(await sh(sandbox, 'find /workspace ~ /opt/settings /opt/caisson/inputs ! -user user')).toBe('');
    expect(await sh(sandbox, 'cd && readlink .zshrc && cat .zshrc .vimrc booted greeting')).toBe(
      [
        '../../opt/caisson/inputs/dotfiles-1/zsh/.zshrc',
        ...['export FROM_DOTFILES=1', 'set number', '/opt/caisson/inputs/bootstrap-1', 'hello "world"'],
      ].join('\n'),
    );
    expect(
      await sh(sandbox, 'cat /opt/settings/settings.yaml; jq --version; echo $GREETING; getent passwd user'),
    ).toMatch(/^x: 1\njq-1.*\nhello "world"\nuser:x:1000:1000:.*:\/home\/user:\/usr\/bin\/zsh$/);
    const [front] = await sandbox.processes.list({ tag: 'foreground' });
    expect(front?.record).toMatchObject({ running: true, pty: true });

    const first = await stepsOf(sandbox);
    expect(first.steps.filter((step) => step.endsWith(' done')).length).toBe(first.steps.length);
    const changed = await create(specOf('echo two'));
    const second = await stepsOf(changed);
    expect(second.steps.filter((step) => !step.endsWith(' cached'))).toEqual(['setup-last done']);
    const same = await create(specOf('echo two'));
    expect((await stepsOf(same)).build).toBe(second.build);

    const commit = await sh(sandbox, 'git -C /workspace/repo rev-parse HEAD');
    git.git('app', 'commit', '-q', '--allow-empty', '-m', 'later');
    await sandbox.recreate({ waitSeconds });
    expect(await sh(sandbox, 'git -C /workspace/repo rev-parse HEAD; cat ~/greeting')).toBe(`${commit}\nhello "world"`);
    expect(told('attempt', 'show', sandbox.id)).toMatch(new RegExp(`recreate[^]*${first.build}[^]*commit +${commit}`));

    await expectNowhere(sandbox, [first.build, second.build], watch);
  });

  // Who builds makes no difference to it: once is enough.
  if (builder === 'native')
    test('dotfiles are applied by a chezmoi that setup brought', async (context) => {
      git.make('chezmoi', { dot_bashrc: 'alias ll=ls\n', 'private_dot_ssh/config': 'Host x\n', 'README.md': 'me\n' });
      const spec = {
        os: { family: 'debian', release: 'bookworm' },
        source: { kind: 'none' },
        inputs: [{ purpose: 'dotfiles', kind: 'git', url: `http://${host}:${git.httpPort}/chezmoi` }],
        customization: { dotfilesManager: 'chezmoi' },
        setup: chezmoiOfSid,
      };
      const made = await create(spec).catch((error) => error);
      const lines = String(made?.context?.lastLines ?? '');
      if (/Could not resolve|Unable to connect|Failed to fetch|Unable to locate/.test(lines))
        skip(context, `Debian's unstable release has no chezmoi for us: ${lines.slice(-300)}`);
      if (made instanceof Error) throw made;
      expect(
        await sh(made, 'cd && cat .bashrc .ssh/config && stat -c %a:%U .ssh .bashrc; ls README.md 2>&1 | wc -l'),
      ).toBe('alias ll=ls\nHost x\n700:user\n644:user\n1');
    });

  /** The credential of the repository, wherever somebody could look for it. */
  async function expectNowhere(sandbox: SandboxHandle, builds: readonly string[], watch: ProcessWatch): Promise<void> {
    const inside = await sh(
      sandbox,
      'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; cat /workspace/repo/.git/config; git -C /workspace/repo config -l',
    );
    const { id } = await sandbox.snapshot({ name: 'after' });
    // Those of an engine lie in its folder.
    if (!engine) {
      const { content } = await caisson.snapshots.export(id, { thin: true });
      writeFileSync(join(folder, 'snapshot.tar'), Buffer.from(await new Response(content).arrayBuffer()));
    }
    const events: unknown[] = [];
    for await (const event of sandbox.events({ follow: false })) events.push(event);
    const buildLogs = builds.map((build) => told('build', 'logs', build)).join('\n');
    const attempt = told('attempt', 'show', sandbox.id, '--json');
    const places = { inside, log, buildLogs, attempt, events: JSON.stringify(events), processes: watch.end() };
    expect(log).toContain(sandbox.id);
    expect(buildLogs).toContain('bringing the repository');
    expect(inside).toContain(`:${git.httpsPort}/app`);
    for (const spelling of spellingsOf(login))
      for (const [name, text] of Object.entries(places))
        expect(text.includes(spelling), `${name}: ${spelling}`).toBe(false);
    expect(filesWith(folder, spellingsOf(login))).toEqual([]);
    if (engine) expect(filesWith(engine.folder, spellingsOf(login))).toEqual([]);
  }
});

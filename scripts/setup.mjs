// Brings a clean clone to the point where everything can run: Node, packages, what Debian has to give, the build.
// It runs before anything is installed, so it uses nothing but Node, and it does nothing that is already done.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingDebianPackages } from './debian-packages.mjs';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.caisson-lock');

/** Runs a command in the project's folder; `local` programs are those of node_modules. Returns whether it succeeded. */
export function run(command, args, { quiet = false, env = {} } = {}) {
  const local = join(root, 'node_modules', '.bin', command);
  const done = spawnSync(existsSync(local) ? local : command, args, {
    cwd: root,
    stdio: quiet ? ['ignore', 'ignore', 'inherit'] : ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  return done.status === 0;
}

function fail(line) {
  console.error(`setup: ${line}`);
  process.exit(1);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    fail(`Node 20.19 or later is needed; this is ${process.versions.node}`);
}

function installPackages() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.log('setup: installing npm packages');
  if (!run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { quiet: true })) {
    fail('npm ci failed; is the npm registry reachable?');
  }
  writeFileSync(stamp, lock);
}

function installDebianPackages(use) {
  const missing = missingDebianPackages(use);
  if (missing.length === 0) return;
  const names = missing.map((entry) => entry.package);
  const why = missing.map((entry) => `${entry.package} (${entry.why})`).join(', ');
  const canInstall = process.getuid?.() === 0 && existsSync('/etc/debian_version');
  if (!canInstall) {
    console.log(
      `setup: missing, and what needs it will be skipped: ${why}; as root: apt-get install ${names.join(' ')}`,
    );
    return;
  }
  console.log(`setup: installing from Debian: ${why}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-get', ['-qq', 'update'], { quiet: true, env });
  if (!run('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', ...names], { quiet: true, env })) {
    fail(`apt-get could not install ${names.join(' ')}`);
  }
}

export async function build() {
  if (!run('tsc', ['-b'])) return false;
  await buildGuestProgram();
  const { bundle } = await import('./bundle.mjs');
  return bundle(root);
}

/** Without a compiler everything but real sandboxes works, so this says what is missing and goes on. */
async function buildGuestProgram() {
  const { buildGuest } = await import('../packages/guest/build.mjs');
  try {
    buildGuest({ quiet: true });
  } catch (error) {
    console.log(`setup: ${error.stderr?.toString().trim() || error.message}`);
  }
}

/** `use` is what for, where that needs more than the tests do. */
export function setup({ use } = {}) {
  checkNode();
  installPackages();
  installDebianPackages(use);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setup();
  if (!(await build())) process.exit(1);
}

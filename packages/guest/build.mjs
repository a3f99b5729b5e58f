/**
 * Builds the native program. Plain Node, so that it can run before anything else is built.
 *
 *     node packages/guest/build.mjs                  the program, for this machine (and arm64 where its compiler is there)
 *     node packages/guest/build.mjs --variant=asan   the same with sanitizers; also: test, fuzz, bare-spawn
 *
 * The output is `dist/native/<arch>/<name>`. Nothing is done when the sources, the compiler and the flags are those of
 * the last build.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const packageFolder = dirname(fileURLToPath(import.meta.url));
const nativeFolder = join(packageFolder, 'native');
const outputFolder = join(packageFolder, 'dist', 'native');

const language = ['-std=c11', '-D_GNU_SOURCE'];
const warnings = ['-Wall', '-Wextra', '-Werror', '-Wshadow', '-Wstrict-prototypes', '-Wno-missing-field-initializers'];
const hardening = ['-fstack-protector-strong', '-fno-common', '-Wl,-z,relro,-z,now', '-Wl,-z,noexecstack'];
// Size before speed where the two part: the program is mostly system calls, and what it does not touch is not resident.
const release = [
  '-Os',
  '-fno-asynchronous-unwind-tables',
  '-fno-unwind-tables',
  '-DNDEBUG',
  '-ffunction-sections',
  '-fdata-sections',
  '-Wl,--gc-sections,-z,noseparate-code',
  '-static',
  '-s',
];
const sanitized = [
  '-DCAISSON_KEEP_STDERR',
  '-O1',
  '-g',
  '-fno-omit-frame-pointer',
  '-fsanitize=address,undefined',
  '-fno-sanitize-recover=all',
];

// In this order in the program: what an idle guest touches stands first, then what of the C library that needs, then the
// rest. The kernel maps pages by the dozen around the one that is needed, and so leaves the rest out.
const warm = ['guest', 'wire'];
const program = [...warm, 'file', 'host', 'step', 'tree', 'unpack'];

/** `folders` and `files` are below native/; `static` builds prefer musl, the sanitizers need the compiler's own libc. */
const variants = {
  guest: { name: 'caisson-guest', folders: program, files: ['main.c'], flags: release },
  asan: { name: 'caisson-guest-asan', folders: program, files: ['main.c'], flags: sanitized },
  debug: {
    name: 'caisson-guest-debug',
    folders: program,
    files: ['main.c'],
    // Valgrind knows fork, and not a child that shares the memory.
    flags: ['-O1', '-g', '-fno-omit-frame-pointer', '-DCAISSON_PLAIN_FORK', '-DCAISSON_KEEP_STDERR'],
  },
  test: { name: 'guest-test', folders: [...program, 'test'], files: [], flags: sanitized },
  fuzz: { name: 'guest-fuzz', folders: [...program, 'fuzz'], files: [], flags: sanitized },
  'bare-spawn': { name: 'bare-spawn', folders: ['bench'], files: [], flags: release },
};

function sourcesIn(folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(nativeFolder, folder))
      .filter((name) => name.endsWith('.c'))
      .sort()
      .map((name) => join(nativeFolder, folder, name)),
  );
}

/** What the compiler is given, in order; beside sources that is the place of the C library. */
function inputsOf({ folders, files }) {
  const own = files.map((name) => join(nativeFolder, name));
  const rest = folders.filter((folder) => !warm.includes(folder));
  if (rest.length === folders.length) return [...sourcesIn(folders), ...own];
  return [...sourcesIn(warm), ...own, '-lc', ...sourcesIn(rest)];
}

function headers(folder = nativeFolder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return headers(path);
    return name.endsWith('.h') ? [path] : [];
  });
}

/** The first line a compiler says of itself, or undefined when it is not there. */
function versionOf(compiler) {
  try {
    return execFileSync(compiler, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(
      '\n',
    )[0];
  } catch {
    return undefined;
  }
}

function compilerFor(arch, variant) {
  const isStatic = variants[variant].flags.includes('-static');
  const names =
    arch === process.arch ? [...(isStatic ? ['musl-gcc'] : []), 'cc', 'gcc', 'clang'] : (crossCompilers[arch] ?? []);
  for (const name of names) {
    const version = versionOf(name);
    if (version !== undefined) return { name, version };
  }
  return undefined;
}

const crossCompilers = { arm64: ['aarch64-linux-gnu-gcc'], x64: ['x86_64-linux-gnu-gcc'] };

export function nativePath(variant = 'guest', arch = process.arch) {
  return join(outputFolder, arch, variants[variant].name);
}

function buildOne(variant, arch, quiet) {
  const output = nativePath(variant, arch);
  const compiler = compilerFor(arch, variant);
  if (compiler === undefined) {
    if (existsSync(output)) return output;
    throw new Error(
      `the guest needs a C compiler, and there is no prebuilt ${relative(process.cwd(), output)}: ` +
        'install one (Debian: `apt-get install gcc libc6-dev musl-tools`) or take the program from a release',
    );
  }
  const { flags } = variants[variant];
  const inputs = inputsOf(variants[variant]);
  const sources = inputs.filter((input) => !input.startsWith('-'));
  const arguments_ = [...language, ...warnings, ...hardening, ...flags];
  const hash = createHash('sha256').update(JSON.stringify([compiler, arguments_, inputs]));
  for (const path of [...sources, ...headers().sort()]) hash.update(path).update(readFileSync(path));
  const key = hash.digest('hex');
  const keyFile = `${output}.key`;
  if (existsSync(output) && existsSync(keyFile) && readFileSync(keyFile, 'utf8') === key) return output;
  mkdirSync(dirname(output), { recursive: true });
  if (!quiet) console.error(`guest: ${compiler.name} → ${relative(process.cwd(), output)}`);
  // A new file and a rename: a running program, or another build at the same time, never sees half of one.
  const fresh = `${output}.${process.pid}`;
  execFileSync(compiler.name, [...arguments_, ...inputs, '-o', fresh], { stdio: quiet ? 'pipe' : 'inherit' });
  // Whoever builds it: others run it, those inside sandboxes too.
  chmodSync(fresh, 0o755);
  renameSync(fresh, output);
  writeFileSync(keyFile, key);
  return output;
}

/**
 * Builds the program for this machine, and for arm64 where its compiler is installed. Gives the path of the one for
 * this machine. Throws with what to install when there is neither a compiler nor a prebuilt program.
 */
export function buildGuest({ quiet = false } = {}) {
  const path = buildOne('guest', process.arch, quiet);
  for (const arch of Object.keys(crossCompilers)) {
    if (arch !== process.arch && compilerFor(arch, 'guest') !== undefined) buildOne('guest', arch, quiet);
  }
  return path;
}

/** Builds one of the variants for tests and measurements, for this machine. */
export function buildVariant(variant, { quiet = false } = {}) {
  if (!(variant in variants)) throw new Error(`there is no variant ${variant}: ${Object.keys(variants).join(', ')}`);
  return buildOne(variant, process.arch, quiet);
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === process.argv[1]) {
  const chosen = process.argv.find((argument) => argument.startsWith('--variant='))?.slice('--variant='.length);
  try {
    console.log(chosen === undefined ? buildGuest() : buildVariant(chosen));
  } catch (error) {
    console.error(`guest: ${error.message}`);
    process.exitCode = 1;
  }
}
